package engine

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/primitives"
)

// Primitive declares a primitive: all that the suite has to know of it. S is what an object is, I what happens to it,
// and O the answer. Scripts and calls are brought into the same form, so one Step judges both.
type Primitive[S, I, O comparable] struct {
	// Name is the name of the primitive, such as "Lock".
	Name string

	// Promises are the promises of the doc comments, by name. A failed case names "Waiting" or "Wire", or else Limit.
	Promises map[string]string

	// Limit is the promise that a history breaks if the model does not explain it.
	Limit string

	// Init is an object that each test begins with, and Edge one at the edge of what it can be, with
	// which one of several begins; nil: as Init.
	Init State[S]
	Edge *State[S]

	// Some is an object that exists, and NoTexts are texts that are none.
	Some    State[S]
	NoTexts []string

	// Step returns the object after an input, and whether out can be the answer. At is the server's time, or zero where
	// it is unknown. Step is mostly not called for an object of another kind, which is a conflict.
	Step func(s State[S], at time.Time, in I, out O) (State[S], bool)

	// Keep is what of an object outlives its key, such as the last token. Nil: nothing.
	Keep func(v S) S

	// Ages returns an object at a time, by the server's clock, after time alone has passed: some leases may have ended.
	// It is also called for an absent object if Keep keeps something. Nil: it stays as it is. Ages does not end its life.
	Ages func(v S, at time.Time) S

	// Verb names the action of an input, by which the suite finds the operation: inputs of one operation have one name.
	Verb func(in I) string

	// Asks returns the input of a script for each of its objects, and Answers the output for each. If a script is part
	// of no operation, Asks returns nil.
	Asks    func(r *Script) []I
	Answers func(r *Script) ([]O, error)

	// CallerView returns the part of an answer that the caller sees. Nil: all of it.
	CallerView func(out O) O

	// Granted reports whether an answer is no refusal of what waits or tries. Nil: nothing does.
	Granted func(out O) bool

	// Stored are the keys of an object of a name. The first is the object's own: without it there is none. Those
	// with an end of their own (Key.Ends) may be there in some states only, in any order.
	Stored func(name string, s State[S]) []Key

	// Queue is the queue of the waiters. Nil: there is none on the server. Passes says that scripts grant the
	// object to the first in it. Nil: the waiters try again.
	Queue  *Queue[S, I]
	Passes *Passes[I]

	// Channel is where an object's messages go. Nil: it has none. A waiter then tries again by itself, after Retry
	// at the latest, and at the time that a refusal says, unless another call has changed the object since. With both,
	// no refusal says a time.
	Channel func(can backend.Capabilities, key string) string
	Retry   time.Duration

	// Published is what is published when something has happened to an object, with commas between messages; "": nothing.
	Published func(before, after State[S], in I) string

	// Ops are the operations.
	Ops []Op[S, I, O]

	// Lived is an object as one that may have an end of its life. Asks does not know the scripts of
	// Expire and Persist, which answer 1 if they changed that end, else 0. Nil: it has none of its own.
	Lived func(c *primitives.Client, name string) Lived

	// Ready reports whether what waits for in can go on. Nil: nothing waits. Else there are an operation
	// that waits, Blocks, Frees, Granted, Peer, and Channel or Retry.
	Ready func(s State[S], in I) bool

	// Blocks returns the input after which a waiter has to wait, and Frees the input that lets it go on. Ok is false if
	// nothing is needed for that.
	Blocks, Frees func(s State[S]) (in I, ok bool)

	// Peer draws a change by another program, with a message or without; ok is false if it does nothing.
	Peer func(d Params[S]) (c Change[S], ok bool)

	// Doubt is an object of which something may happen, at some time, that got no answer. Left says
	// that its caller did not wait for the answer. Nil: what Step makes of it may happen.
	Doubt func(v S, in I, left bool) S

	// Unseen are what an object in doubt may become by itself. Nil: nothing.
	Unseen func(v S) []S

	// Hold declares what leases hold, and Takes what callers take without a lease. Nil: there is nothing of the kind.
	Hold  *Hold[S, I, O]
	Takes *Takes[S, I, O]

	// Hasty says that a call is not sent, and fails at once, after another could not dial.
	Hasty bool

	// Special are cases of its own.
	Special []harness.Case
}

// Lived are the methods of an object that may have an end of its life.
type Lived interface {
	Exists(ctx context.Context) (bool, error)
	Expire(ctx context.Context, life time.Duration) (bool, error)
	ExpireAt(ctx context.Context, end time.Time) (bool, error)
	Persist(ctx context.Context) (bool, error)
	TTL(ctx context.Context) (time.Duration, error)
}

// Change is what another program does to an object.
type Change[S comparable] struct {
	Next    State[S]
	Life    time.Duration // of Next; 0: it has no expiry
	Message string        // what is published of it; "": nothing
}

// Op is an operation of a primitive.
type Op[S, I, O comparable] struct {
	// Name is the name of the method.
	Name string

	// Weight is how often it is drawn, among others.
	Weight int

	// Generate returns the input.
	Generate func(d Params[S]) I

	// Call calls it.
	Call func(ctx context.Context, c *primitives.Client, name string, in I) (O, error)

	// Acquire calls it if it returns a lease, instead of Call.
	Acquire func(ctx context.Context, c *primitives.Client, name string, in I) (*primitives.Lease, error)

	// Waits says that it waits until its object is ready, and Tries that it is refused if it is not. Queries says that
	// nothing is unknown after it, though its script may write: a missing answer is ErrUnavailable.
	Waits, Tries, Queries bool

	// AckOnly says that the caller learns only that the operation succeeded.
	AckOnly bool

	// SentAfterCancel says that it is sent even if its context has ended.
	SentAfterCancel bool

	// Back is what puts back what it took; ok is false if it took nothing.
	Back func(in I, out O) (back I, ok bool)

	// ExcludeFromHistory says that histories leave it out, since it changes how much there is.
	ExcludeFromHistory bool

	// WriteOnly says that it does not read the value of the key.
	WriteOnly bool

	// Refuses are what it refuses, with a FieldError.
	Refuses []I
}

// Params are the random values by which an operation generates its input.
type Params[S comparable] struct {
	Which int           // 0 to 5
	Flag  bool          // one of two
	For   time.Duration // of the length of a lease, or shorter
	Now   State[S]      // what the object is; zero: it is not known
	At    time.Time     // by the server's clock; zero: it is not known
	Fixed time.Duration // the length of a fixed lease
}

// Hold says what a primitive's leases hold. Of the operations that return leases one waits and one tries,
// and both are drawn with a lease of their own, too.
type Hold[S, I, O comparable] struct {
	// Of says what something does to whose hold, and for how long it takes it.
	Of func(in I) (act HoldAct, owner string, lease time.Duration)

	// Fixed is the lease that a call asks for; 0: the watchdog's.
	Fixed func(in I) time.Duration

	// Holders are those that have an object.
	Holders func(s State[S]) []string

	// Until is Some whose holds end by themselves at a time. Nil: they end with the object's own key.
	Until func(at time.Time) State[S]

	// Grant is the answer that a lease was made of; ok is false for another.
	Grant func(out O) (owner string, token int64, ok bool)

	// Granted is the answer that says so, for a caller.
	Granted func(owner string, token int64) O

	// Release is what releases a hold.
	Release func(owner string) I

	// Places are owners that wait and have a place, for which others stand back. Nil: none has, but in a Queue.
	Places func(s State[S]) []string

	// Awaits is what a call waits for that was granted a hold by out, and keeps it only until it returns, as a member
	// of a barrier. It returns nil when that has come, since which the hold is over by itself; on an error it has
	// released the hold. What waits calls Call then, not Acquire. Nil: callers get a lease of what is granted.
	Awaits func(out O) I

	// Apart says, of an object with several sides, whether what inner asks under the Reenter of a lease
	// that owner got by outer is a hold of its own. It then waits for awaits, or is refused with an
	// error, and sends nothing. Nil: it always re-enters.
	Apart func(outer I, owner string, inner I) (awaits I, apart bool, refused error)

	// Done is the answer to a release or a renewal: whether the owner had it.
	Done func(out O) bool
}

// HoldAct is what something does to a hold.
type HoldAct int

// What happens to holds.
const (
	NoHold HoldAct = iota
	Asks
	Renews
	Releases
)

// Takes says what is taken of a primitive that counts, where nobody owns what he took.
type Takes[S, I, O comparable] struct {
	// Count is how much there is.
	Count func(s State[S]) int64

	// Took is how much something has taken.
	Took func(in I, out O) int64

	// Puts is how much something adds, and whether it also makes the object.
	Puts func(in I) (n int64, create, ok bool)

	// Back is what adds so much, and also makes the object, or does not.
	Back func(n int64, create bool) I
}

// Queue is a queue on the server, in which owners wait that get leases. Each has a channel of its own: the
// object's, with a colon and the owner behind it. What Published and Change.Message name is the owner that
// is woken. Ready is asked for what the last script of a call asks, with its owner.
type Queue[S, I comparable] struct {
	// Key is the key of the list of owners, the next one first, or of the sorted set of them.
	Key func(key string) string

	// Waiting are the owners that others wait behind.
	Waiting func(s State[S]) []string

	// Place is for how long a call keeps its place without a try; 0: for the watchdog's lease. It tries
	// three times within it.
	Place func(in I) time.Duration

	// Message is what wakes an owner.
	Message string
}

// Passes is about a queue whose first owner is granted the object by the script that frees it, and alone gets a
// message: what Published and Change.Message name is the whole of it. Place and Message of the Queue are not used.
// A client sends the heartbeats of its waiters regularly, by one script.
type Passes[I comparable] struct {
	// Worth is how long a heartbeat counts; the lease, if that is less. A waiter sends four of
	// them in that time. A grant by another's script lasts for as long, from the sending of the heartbeat on.
	Worth time.Duration

	// Group is the part of an owner that its channel is named after, behind that of the object and a colon.
	Group func(owner string) string

	// Signs are the owners whose heartbeats something sends, and the number of that sending. By its answer Hold.Grant
	// says which of them holds the object.
	Signs func(in I) (owners []string, stamp int64)

	// Read reads a message. A loss has the stamp -1.
	Read func(message string) Grant
}

// Grant is a grant by another's script, and the owner's heartbeat that it followed.
type Grant struct {
	Owner        string
	Token, Stamp int64
}

// Key is one key of an object on the server.
type Key struct {
	Name string

	// Text is what a string holds, Fields what a hash does, List what a list does, and Set the scores of
	// a sorted set. There is no such key without text, or if what it is to hold is empty.
	Text   string
	Fields map[string]string
	List   []string
	Set    map[string]int64

	// Equal reports whether a text is as good as Text, Alike whether fields are as good as Fields, and Ranked
	// whether members, by their scores, are as good as Set. Nil: if they are the same.
	Equal  func(text string) bool
	Alike  func(fields map[string]string) bool
	Ranked func(scores map[string]string) bool

	// Life is how long another key than the first lasts at most, after now and After; 0: it has no expiry.
	Life  time.Duration
	After time.Time

	// Ends is when another key than the first ends, by the server's clock. In a state without such a key
	// it must be gone, unless there is no object. Zero: Life says it.
	Ends time.Time
}

// Script is a script that a client sends, and its answer.
type Script struct {
	Name       string
	Keys, Args []string
	Reply      backend.Reply
	Err        error
}
