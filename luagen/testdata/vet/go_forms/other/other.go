// Package other has scripts for another package.
package other

// Prefix is a part of one.
const Prefix = "limit:"

// Exported is a script.
const Exported = `if redis.call('exists', KEYS[1]) then return 'constant of another package' end return 0`

// Source returns one.
func Source() string {
	return `if redis.call('exists', KEYS[1]) then return 'function of another package' end return 0`
}
