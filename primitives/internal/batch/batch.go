// Package batch is the answer of a script that renews or releases the holds of many owners.
package batch

// Status is the server's answer for one owner.
type Status int64

const (
	// Failed means that the server has no result for the owner.
	Failed Status = -1
	// NotHeld means that the owner does not hold the key.
	NotHeld Status = 0
	// Done means that the owner has a whole lease again, or was released.
	Done Status = 1
	// OtherKind means that the owner does not hold the key, which is of another kind.
	OtherKind Status = 2
)

// Lost reports whether the owner does not hold the key.
func (s Status) Lost() bool { return s == NotHeld || s == OtherKind }

// At returns the status of the owner with index i, by the outcome of the script.
func At(i int, statuses []Status, err error) Status {
	if err != nil || i >= len(statuses) {
		return Failed
	}
	return statuses[i]
}
