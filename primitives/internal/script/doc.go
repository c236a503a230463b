// Package script has the primitives' scripts: each is a .lua file, next to the Go function that
// luagen makes from it. Run "make generate" after a change.
package script

// Nobody is the owner of a hold that was revoked: see revoked.lua.
const Nobody = "00000000-0000-0000-0000-000000000000:0"
