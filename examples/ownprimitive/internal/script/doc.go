// Package script has the Lua scripts of the barrier and of the limiter, and the Go functions that luagen makes of them.
package script

//go:generate go tool luagen .
