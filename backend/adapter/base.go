// Package adapter has the part of an adapter that its driver does not change: a [Base] runs scripts by
// package evalsha and subscribes by package fanout. An adapter embeds it, or a [Full].
//
// It is public because authors of other adapters need it too. Standard library only.
package adapter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
	"github.com/hasp-go/hasp/backend/fanout"
)

// Base implements [backend.Backend]. It is safe for concurrent use, and may be copied. The zero value is of no use.
type Base struct {
	runner *evalsha.Runner
	hub    *fanout.Hub
	can    backend.Capabilities
}

// Options adjusts a [Base]. The zero value, like nil, means the defaults.
type Options struct {
	// Can is what the adapter's Capabilities returns.
	Can backend.Capabilities

	// PubSub is for the hub. Nil means the defaults.
	PubSub *fanout.Options

	// RefusedFor is for the runner: see [evalsha.Options].
	RefusedFor time.Duration

	_ struct{}
}

// New returns a Base for an adapter to embed. It sends nothing. It returns an error if an option is out of bounds.
func New(driver evalsha.Driver, dialer fanout.Dialer, opts *Options) (Base, error) {
	opts = cmp.Or(opts, new(Options))
	hub, err := fanout.New(dialer, opts.PubSub)
	if err != nil {
		return Base{}, fmt.Errorf("Options.PubSub: %w", err)
	}
	runner := evalsha.New(driver, &evalsha.Options{Cluster: opts.Can.Cluster, RefusedFor: opts.RefusedFor})
	return Base{runner: runner, hub: hub, can: opts.Can}, nil
}

// Capabilities implements [backend.Backend].
func (b *Base) Capabilities() backend.Capabilities { return b.can }

// Close implements [backend.Backend]. It blocks while the hub's links are closed.
func (b *Base) Close() error {
	b.runner.Close()
	b.hub.Close()
	return nil
}

// Run implements [backend.ScriptRunner].
func (b *Base) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	return b.runner.Run(ctx, script, keys, args)
}

// Subscribe implements [backend.Subscriber].
func (b *Base) Subscribe(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
	return b.hub.Subscribe(ctx, channel, handler)
}
