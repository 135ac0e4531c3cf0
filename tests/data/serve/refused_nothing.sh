#!/bin/sh
echo "no server here"
