package evalsha

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/hasp-go/hasp/backend"
)

// Node sends a command to one primary, whatever its keys are. Its errors are those of [Driver].
type Node func(ctx context.Context, cmd Command) (backend.Reply, error)

// scanning is SCAN, whose cursor stands for a key.
var scanning = &backend.Script{Name: "SCAN", Command: "SCAN", Keys: 1, Retry: backend.RetryReadOnly}

// Scan implements [backend.Scanner] over the nodes that primaries returns, one after the other. An error of
// primaries is of the classes of [Driver], too.
func (r *Runner) Scan(
	ctx context.Context, primaries func(ctx context.Context) ([]Node, error), pattern string, step int,
) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		nodes, err := r.nodes(ctx, primaries)
		if err != nil {
			yield(nil, err)
			return
		}
		args := []string{"MATCH", pattern, "COUNT", strconv.Itoa(step)}
		for _, node := range nodes {
			if !r.scanNode(ctx, node, args, yield) {
				return
			}
		}
	}
}

func (r *Runner) nodes(ctx context.Context, primaries func(ctx context.Context) ([]Node, error)) ([]Node, error) {
	if err := r.refuse(ctx, scanning, []string{"0"}); err != nil {
		return nil, err
	}
	nodes, err := primaries(ctx)
	if err != nil {
		f := failures{runner: r, script: scanning}
		return nil, f.outcome(ctx, err)
	}
	return nodes, nil
}

// scanNode yields the keys of one node, and reports whether to go on.
func (r *Runner) scanNode(ctx context.Context, node Node, args []string, yield func([]string, error) bool) bool {
	for cursor := "0"; ; {
		keys, next, err := r.scanStep(ctx, node, cursor, args)
		switch {
		case !yield(keys, err), err != nil:
			return false
		case next == "0":
			return true
		}
		cursor = next
	}
}

// scanStep sends one step. Only the first is offered again: its cursor means the same to any server.
func (r *Runner) scanStep(ctx context.Context, node Node, cursor string, args []string) (keys []string, next string, err error) {
	if err := r.refuse(ctx, scanning, []string{cursor}); err != nil {
		return nil, "", err
	}
	send := func() (backend.Reply, error) { return node(ctx, r.command(scanning, []string{cursor}, args)) }
	reply, err := send()
	switch f := (failures{runner: r, script: scanning}); {
	case err == nil:
		return scanned(reply)
	case cursor != "0":
		return nil, "", f.outcome(ctx, err)
	}
	if reply, err = r.again(ctx, scanning, cursor, err, send); err != nil {
		return nil, "", err
	}
	return scanned(reply)
}

func scanned(reply backend.Reply) (keys []string, next string, err error) {
	parts, err := reply.Tuple(2)
	if err != nil {
		return nil, "", fmt.Errorf("SCAN: %w", err)
	}
	items, err := parts[1].Items()
	if err == nil {
		next, err = parts[0].Text()
	}
	keys = make([]string, len(items))
	for i := 0; i < len(items) && err == nil; i++ {
		keys[i], err = items[i].Text()
	}
	if err != nil {
		return nil, "", fmt.Errorf("SCAN: %w", err)
	}
	return keys, next, nil
}
