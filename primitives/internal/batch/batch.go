// Package batch is the answer of a script that renews or releases the holds of many owners.
package batch

// Status is the server's answer for one owner.
type Status struct {
	code  code
	other string // that holds the key instead, of code taken
}

// code is a status without names. The zero says that the owner does not hold the key.
type code int8

const (
	notHeld code = iota
	failed
	done
	otherKind
	taken
)

var (
	// Failed means that the server has no result for the owner.
	Failed = Status{code: failed}
	// NotHeld means that the owner does not hold the key.
	NotHeld = Status{code: notHeld}
	// Done means that the owner has a whole lease again, or was released.
	Done = Status{code: done}
	// OtherKind means that the owner does not hold the key, which is of another kind.
	OtherKind = Status{code: otherKind}
)

// TakenBy returns the status of an owner that does not hold the key, since other holds it. If other is "", it is not known.
func TakenBy(other string) Status { return Status{taken, other} }

// Lost reports whether the owner does not hold the key.
func Lost(s Status) bool { return s.code == notHeld || s.code == otherKind || s.code == taken }

// Taken reports whether another owner holds the key, and which one.
func Taken(s Status) (other string, known bool) { return s.other, s.code == taken }

// At returns the status of the owner with index i, by the outcome of the script.
func At(i int, statuses []Status, err error) Status {
	if err != nil || i >= len(statuses) {
		return Failed
	}
	return statuses[i]
}
