package backend

import (
	"context"
	"iter"
)

// Scanner is implemented by backends that can list keys.
type Scanner interface {
	// Scan yields the keys that match pattern, as SCAN with MATCH pattern and COUNT step finds them, one
	// element for each reply, which may be empty. It only reads. It sends a step when the caller wants the
	// next element. It blocks while a step is under way. When ctx ends, it fails promptly, as Run does.
	//
	// K1. Scan must yield each key that exists from begin to end, of each primary of a cluster and of no
	// replica; other keys, and keys twice, may come too. It must not use KEYS. An error is yielded once, and
	// ends it: it is of the classes of Run for a script of class [RetryReadOnly]. If a primary fails, Scan must
	// fail. A step with a cursor must not be sent again: a cursor means nothing to a server that was restarted
	// or replaced. Keys may be missing if that happens unseen between two steps, or if slots move meanwhile.
	Scan(ctx context.Context, pattern string, step int) iter.Seq2[[]string, error]
}
