package conformance

import (
	"context"
	"fmt"

	"github.com/hasp-go/hasp/primitives"
)

// prefixCases are one for each primitive that waits: a client's prefix is a part of all its names.
func prefixCases() (cases []Case) {
	for _, w := range Workloads() {
		if w.Wake == nil {
			continue
		}
		cases = append(cases, Case{
			Name: w.Name + "UnderAPrefix", Clause: w.Name + ".Wire", needs: []need{needsPubSub},
			check: func(ctx context.Context, e *env) error { return checkPrefix(ctx, e, w) },
		})
	}
	return cases
}

// checkPrefix has a client with a prefix and one without wake each other.
func checkPrefix(ctx context.Context, e *env, w Workload) error {
	ctx, cancel := context.WithTimeout(ctx, Patience/4)
	defer cancel()
	for i := range 2 {
		whole := e.key(fmt.Sprint("object", i))
		prefixed, err := e.prefixed(ctx, whole)
		if err != nil {
			return err
		}
		plain, err := e.newClients(ctx, 1)
		if err != nil {
			return err
		}
		pair := []Named{prefixed, {plain[0], whole}}
		if err := w.Wake(ctx, pair[i], pair[1-i]); err != nil {
			return fmt.Errorf("with a prefix and without: %w", err)
		}
	}
	return nil
}

// prefixed returns the object of that whole name as a client sees it whose prefix is a part of that.
func (e *env) prefixed(ctx context.Context, whole string) (Named, error) {
	const length = 5
	c, _, err := e.client(ctx, &primitives.Options{KeyPrefix: whole[:length], PollInterval: never})
	return Named{c, whole[length:]}, err
}
