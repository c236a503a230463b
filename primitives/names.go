package primitives

import "strings"

// The names of side keys and channels are Redisson's.
const (
	lockChannel  = "redisson_lock__channel"
	lockTokenKey = "redisson_lock_token"

	semaphoreChannel = "redisson_sc"
	latchChannel     = "redisson_countdownlatch__channel__"
)

// sideName returns the name of a key or channel that belongs to the object called name, in the
// same slot of a cluster: the name becomes the hash tag, unless it has one already.
func sideName(prefix, name string) string {
	if strings.Contains(name, "{") {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}
