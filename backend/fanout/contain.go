package fanout

import (
	"context"
	"fmt"
	"slices"
)

// contained is a [Dialer] whose panics are errors. A hub calls the driver, and with it hooks of the
// application, from goroutines of its own, where a panic would end the process: the link is lost
// instead, and the callers that wait in Subscribe get the error.
type contained struct{ Dialer }

// recovered makes an error of a panic. It is deferred.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic in the driver: %v", p)
	}
}

func (d contained) Node(ctx context.Context, channel string) (_ string, err error) {
	defer recovered(&err)
	return d.Dialer.Node(ctx, channel)
}

func (d contained) Dial(ctx context.Context, node string, events Events) (_ containedLink, err error) {
	defer recovered(&err)
	link, err := d.Dialer.Dial(ctx, node, events)
	return containedLink{link}, err
}

// containedLink is the link of a contained dialer. Unsubscribe and Left are for a Link that has them.
type containedLink struct{ Link }

func (l containedLink) Subscribe(ctx context.Context, channels []string) (errs []error) {
	var err error
	defer func() {
		if err != nil {
			errs = slices.Repeat([]error{err}, len(channels))
		}
	}()
	defer recovered(&err)
	return l.Link.Subscribe(ctx, channels)
}

func (l containedLink) Unsubscribe(ctx context.Context, channels []string) (err error) {
	defer recovered(&err)
	return l.Link.(Unsubscriber).Unsubscribe(ctx, channels)
}

func (l containedLink) Close() {
	var err error // nobody can use it
	defer recovered(&err)
	l.Link.Close()
}

func (l containedLink) Left(ctx context.Context) (err error) {
	defer recovered(&err)
	return l.Link.(Follower).Left(ctx)
}
