// Package script has the barrier's Lua scripts, and the Go functions that luagen makes of them.
package script

//go:generate go tool luagen .
