package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// detectWithin bounds the question of Sharded.
const detectWithin = 5 * time.Second

// ask sends node a command without keys. Its subcommand stands for one.
func ask(ctx context.Context, node evalsha.Node, name, sub string, args ...string) error {
	script := &backend.Script{Name: name, Command: name, Keys: 1}
	_, err := node(ctx, evalsha.Command{Name: name, Script: script, Keys: []string{sub}, Args: args})
	return err
}

// askAll is ask for all nodes, side by side. It returns at least one error or nil.
func askAll(
	ctx context.Context, nodes func(context.Context) ([]evalsha.Node, error), name, sub string, args ...string,
) []error {
	all, err := nodes(ctx)
	if err != nil {
		return []error{err}
	}
	errs := make([]error, len(all))
	evalsha.Together(len(all), func(i int) { errs[i] = ask(ctx, all[i], name, sub, args...) })
	return errs
}

// Load loads script on node by SCRIPT LOAD, for the Load of an [evalsha.Driver].
func Load(ctx context.Context, node evalsha.Node, script *backend.Script) error {
	return ask(ctx, node, "SCRIPT", "LOAD", script.Source)
}

// LoadAll loads script on all nodes, side by side, for the LoadAll of an [evalsha.Driver]. It fails if it could load
// nowhere: a node that is down has no slot that matters.
func LoadAll(ctx context.Context, nodes func(context.Context) ([]evalsha.Node, error), script *backend.Script) error {
	return unlessAny(askAll(ctx, nodes, "SCRIPT", "LOAD", script.Source))
}

// unlessAny returns nil if one of errs is nil.
func unlessAny(errs []error) error {
	if slices.Contains(errs, nil) {
		return nil
	}
	return errors.Join(errs...)
}

// Sharded decides by option, or by asking nodes, for up to 5 s, whether subscriptions in a cluster use sharded
// pub/sub: those nodes that answer must all know it. It fails if none answers.
func Sharded(option backend.Sharding, nodes func(context.Context) ([]evalsha.Node, error)) (bool, error) {
	switch option {
	case backend.ShardedOn:
		return true, nil
	case backend.ShardedOff:
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), detectWithin)
	defer cancel()
	errs := askAll(ctx, nodes, "PUBSUB", "SHARDNUMSUB")
	var server *backend.ServerError
	for _, err := range errs {
		if errors.As(err, &server) && server.Code == "ERR" {
			return false, nil // the subcommand is unknown
		}
	}
	if err := unlessAny(errs); err != nil {
		return false, fmt.Errorf("is sharded pub/sub known? %w", err)
	}
	return true, nil
}

// Stale reports whether an outcome, on a connection of one node, says that the node may have been replaced, or a slot
// moved.
func Stale(outcomes []backend.Outcome) bool {
	return slices.ContainsFunc(outcomes, func(o backend.Outcome) bool {
		var server *backend.ServerError
		return o.Err != nil && (!errors.As(o.Err, &server) || server.Code == "MOVED" || server.Code == "READONLY")
	})
}
