package backend

// Locator is implemented by backends of clusters. All keys of a backend that does not implement it are
// on one node.
type Locator interface {
	// NodeOf names the primary that owns key, as far as the backend knows. It returns "" if there is
	// one node, or if the backend does not know the owner yet.
	//
	// L1. Keys of one primary must have one name, those of two primaries different names. A subscription
	// to a channel goes to the node that has the channel's name. NodeOf must not block, nor wait for a
	// server: what is unknown, or out of date, the backend may find out in the background, and a later
	// call returns it.
	NodeOf(key string) string
}
