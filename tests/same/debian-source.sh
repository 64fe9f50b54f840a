#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fetches a Debian source package into the current directory, without touching the machine's own lists. 77: not possible here.
#	debian-source.sh PACKAGE
mkdir -p apt/parts apt/lists/partial apt/cache || exit
for list in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
	[ ! -e "$list" ] || sed 's/^Types: .*/Types: deb-src/; s/^deb /deb-src /' "$list" >"apt/parts/${list##*/}"
done
[ ! -e apt/parts/sources.list ] || mv apt/parts/sources.list apt/parts/a.list
apt="timeout 100 apt-get -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$PWD/apt/parts
	-o Dir::State::Lists=$PWD/apt/lists -o Dir::Cache=$PWD/apt/cache -o APT::Sandbox::User=root"
# shellcheck disable=SC2086 # a list of words
$apt update && $apt source "$1" || exit 77
rm -r apt
