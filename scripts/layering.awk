# SPDX-License-Identifier: BSD-3-Clause
# Reads layers.conf, then source files (paths relative to the tree's top), and prints what breaks the rules as file:line: text.
# Comments are taken out first; strings stay, because a name in a string is knowledge too.

FILENAME == conf {
	sub(/#.*/, "")
	if ($1 == "layer")
		folder[$2] = $3
	for (i = 3; i <= NF; i++) {
		if ($1 == "uses")
			uses[$2, $i] = 1
		if ($1 == "library") {
			library[$2] = 1
			library_in[$2, $i] = 1
		}
		if ($1 == "deny")
			deny[$2, $i] = 1
		if ($1 == "word")
			words[$2] = words[$2] " " $i
		if ($1 == "except")
			excepted[$2, $i] = 1
	}
	next
}

FNR == 1 {
	in_comment = 0
	layer = layer_of(FILENAME)
	if (layer == "")
		report("is in no layer")
	files[layer]++
}

{
	code = strip($0)
	if (code ~ /^[ \t]*#[ \t]*include/)
		check_include(code)
	check_words(code)
}

END {
	for (l in folder)
		print "layer " l " " files[l] + 0 > "/dev/stderr"
}

function report(text)
{
	print FILENAME ":" FNR ": " text
}

function layer_of(path, l)
{
	for (l in folder)
		if (index(path, folder[l] "/") == 1)
			return l
	return ""
}

# The line without its comments. A comment sign within a string is text.
function strip(line, out, c, two, quote)
{
	out = ""
	quote = ""
	while (line != "") {
		c = substr(line, 1, 1)
		two = substr(line, 1, 2)
		if (in_comment) {
			if (two == "*/")
				in_comment = 0
			line = substr(line, in_comment || two != "*/" ? 2 : 3)
			continue
		}
		if (quote == "" && two == "/*") {
			in_comment = 1
			line = substr(line, 3)
			continue
		}
		if (quote == "" && two == "//")
			break
		if (c == "\\" && quote != "") {
			out = out two
			line = substr(line, 3)
			continue
		}
		if (quote == "" && (c == "\"" || c == "'"))
			quote = c
		else if (c == quote)
			quote = ""
		out = out c
		line = substr(line, 2)
	}
	return out
}

function check_include(line, name, how)
{
	sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
	how = substr(line, 1, 1)
	if (how != "\"" && how != "<") {
		report("an include by macro cannot be checked")
		return
	}
	name = substr(line, 2)
	sub(/[">].*/, "", name)
	if (name ~ /(^|\/)\.\.?\//)
		report("include \"" name "\" by a relative path")
	else if (how == "\"")
		check_own(name)
	else
		check_system(name)
}

function check_own(name, other)
{
	if (name == "config.h" && layer != "engine" && layer != "netlink")
		return
	other = layer_of("src/" name)
	if (other == "")
		other = layer_of(name)
	if (other == "")
		report("include \"" name "\" is in no layer")
	else if (other != layer && !((layer, other) in uses))
		report(layer " must not know " other ": include \"" name "\"")
	else if (other != layer && name ~ /internal\.h$/)
		report("include \"" name "\" is private to " other)
}

function check_system(name, dir)
{
	dir = name
	sub(/\/.*/, "/", dir)
	if (((layer, name) in deny) && !((FILENAME, name) in excepted))
		report(layer " must not include <" name ">")
	if (name in library && !((name, layer) in library_in))
		report("the library of <" name "> does not belong into " layer)
	else if (dir in library && !((dir, layer) in library_in))
		report("the library of <" name "> does not belong into " layer)
}

function check_words(line, n, list, i)
{
	n = split(words[layer], list, " ")
	line = tolower(line)
	for (i = 1; i <= n; i++)
		if (match(line, "(^|[^a-z0-9_])" list[i]) && !((FILENAME, list[i]) in excepted))
			report(layer " must not name '" list[i] "'")
}
