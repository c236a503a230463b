// Package script holds the primitives' scripts: a .lua file each, and beside it the Go function that
// luagen makes of it. Run "make generate" after changing one.
package script
