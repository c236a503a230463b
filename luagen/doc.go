// Luagen finds mistakes in Lua scripts for Redis and Valkey, and makes typed Go functions from annotated ones. File
// reference.md has its commands, annotations, types, servers and rules; "luagen help" shows the commands, and "luagen rules"
// the rules.
package main
