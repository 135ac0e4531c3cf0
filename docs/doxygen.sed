# What Doxygen gets to read instead of a header. Lines keep their numbers.

# The comment at a header's head is the page of the file; what it indents is shown as it stands.
1,/^#pragma once/ {
  s|^//   |//     |
  s|^//|///|
  s|^#pragma once|/// @file|
}

# Parameters whose name and type tell all have no line of their own.
s|@param +([a-z_]+)|`\1`:|g

# Operators do what their types say, and what the language would write by itself needs no word.
/^ [^/]*operator[^a-z]|^ *~|^ *([A-Za-z]+)\((const )?\1&&?\)/ s/.*//

# A remark behind or above several members is of each of them.
/^ *\/\/\/ / {
  N
  s|^( *)/// ([^\n]*)\n *([^(/]*, [^(/]*;)$|\n\1/** \2 */ \3|
  P
  D
}
s|^( *)(.*, .*;) +///< (.*)|\1/** \3 */ \2|
:split
s|^(.*/\*\* .* \*/ )([A-Za-z0-9_:]+(<.*>)?) ([a-z_0-9]+(\{[^}]*\})?[^,;(){}]*(\{\})?), ([a-z].*;)$|\1\2 \4; \n\2 \7|
t again
b
:again
s|^(.*)(/\*\* .* \*/ )(.*; )\n|\1\2\3\2|
b split
