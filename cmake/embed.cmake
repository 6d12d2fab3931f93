# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# cmake -DFOLDER=… -DFILES="a b" -DOUTPUT=… -P embed.cmake: writes a C file with the bytes of the files, for
# report_page_parts of page_write.h.
separate_arguments(FILES)
set(arrays "")
set(entries "")
set(number 0)
foreach(name IN LISTS FILES)
  file(READ ${FOLDER}/${name} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "static const unsigned char part_${number}[] = {\n${bytes}};\n")
  string(APPEND entries "    {\"${name}\", part_${number}, sizeof(part_${number})},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "/* Made by cmake/embed.cmake. */\n#include \"page_write.h\"\n\n${arrays}\nconst struct report_page_part report_page_parts[] = {\n${entries}};\nconst size_t report_page_part_count = ${number};\n")
