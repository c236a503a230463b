package backend

// Locator is implemented by backends whose keys may be on several nodes. All keys of another backend
// are on one node.
type Locator interface {
	// NodeOf names the primary that owns key, as far as the backend knows. It returns "" if there is
	// one node, or if the backend does not know the owner yet.
	//
	// It must not block, nor wait for a server: what is not known, or out of date, may be found
	// out in the background, and a later call returns another name. Keys of one slot have one name. A
	// subscription to a channel goes to the node that NodeOf names for the channel.
	NodeOf(key string) string
}
