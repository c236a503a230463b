package recipes

import (
	"context"

	"github.com/hasp-go/hasp/primitives"
)

// Lead calls lead in one of all processes that call Lead with the same name, and the address under which others reach
// it. Its term is a fencing token, higher than the token of each leader before.
func Lead(
	ctx context.Context, client *primitives.Client, name, address string,
	lead func(ctx context.Context, term int64) error,
) error {
	election := client.NewElection(name, &primitives.ElectionOptions{Value: address})
	return election.Run(ctx, func(ctx context.Context, lease *primitives.Lease) error {
		return lead(ctx, lease.Token())
	})
}
