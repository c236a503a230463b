package fanout

import (
	"cmp"
	"fmt"
	"time"
)

// Options adjusts a [Hub]. The zero value, like nil, means the defaults.
type Options struct {
	// PingEvery is how often a link is pinged, and how often it is asked if the client has left its
	// node. Zero means 4 s.
	PingEvery time.Duration

	// AnswerWithin bounds the wait for each answer on a link; a link that exceeds it is lost. So a
	// silent link is noticed within PingEvery + AnswerWithin. Zero means 8 s.
	AnswerWithin time.Duration

	// DialWithin bounds the dialing of a link. Zero means 5 s.
	DialWithin time.Duration

	// SubscribeTimeout is how long Subscribe tries again when links fail or the server is not ready: the
	// first failure after that is its error. Zero means 3 s. Subscriptions once made are renewed
	// without end.
	SubscribeTimeout time.Duration

	// IdleTimeout is how long a link without subscriptions is kept for the next, and how long a link that cannot
	// unsubscribe ([Unsubscriber]) is kept with some that nobody uses. Zero means 10 s.
	IdleTimeout time.Duration

	// Queue is the number of events that wait for one slow handler. When it is full, messages are
	// dropped and a Resubscribed event takes their place. Zero means 1024; at least 2.
	Queue int

	_ struct{}
}

func (o *Options) withDefaults() Options {
	out := *cmp.Or(o, new(Options))
	out.PingEvery = cmp.Or(out.PingEvery, 4*time.Second)
	out.AnswerWithin = cmp.Or(out.AnswerWithin, 8*time.Second)
	out.DialWithin = cmp.Or(out.DialWithin, 5*time.Second)
	out.SubscribeTimeout = cmp.Or(out.SubscribeTimeout, 3*time.Second)
	out.IdleTimeout = cmp.Or(out.IdleTimeout, 10*time.Second)
	out.Queue = cmp.Or(out.Queue, 1024)
	return out
}

func (o *Options) validate() error {
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"PingEvery", o.PingEvery}, {"AnswerWithin", o.AnswerWithin}, {"DialWithin", o.DialWithin},
		{"SubscribeTimeout", o.SubscribeTimeout}, {"IdleTimeout", o.IdleTimeout},
	} {
		if field.value < 0 {
			return fmt.Errorf("fanout: Options.%s is %s, must not be negative", field.name, field.value)
		}
	}
	if o.Queue < 2 {
		return fmt.Errorf("fanout: Options.Queue is %d, must be at least 2", o.Queue)
	}
	return nil
}
