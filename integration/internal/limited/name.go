// Package limited has what the limits of HTTP requests and of gRPC calls share, and httpidem: the names of keys, which the
// clients of a service may choose.
package limited

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// maxKey is the number of characters above which a key is hashed: it stays on the server.
const maxKey = 128

// Share reports whether two limits share a limiter: both have one name, or one without a key has the name of a limiter of
// the other's keys, as which an escaped key has no colon.
func Share(name string, keyed bool, other string, otherKeyed bool) bool {
	return name == other || keyed != otherKeyed &&
		(keyed && strings.HasPrefix(other, name+":") || otherKeyed && strings.HasPrefix(name, other+":"))
}

// Name returns the name of the limiter of a key.
func Name(name, key string) string { return name + ":" + Escape(key) }

// Escape returns a key as a part of a name. An escaped key has no braces, which could be a hash tag, and no #, so it is
// never the hash of another key.
func Escape(key string) string {
	escaped := url.QueryEscape(key)
	if len(escaped) > maxKey {
		sum := sha256.Sum256([]byte(key))
		return "#" + hex.EncodeToString(sum[:])
	}
	return escaped
}
