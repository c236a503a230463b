package recipes

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Begin locks a name for an hour at most, and returns the text for End.
func Begin(ctx context.Context, client *primitives.Client, name string) (owner string, err error) {
	lease, err := client.NewLock(name, &primitives.LockOptions{Lease: time.Hour}).TryLock(ctx)
	if err != nil {
		return "", err
	}
	defer lease.Forget() // this process neither renews the lock nor releases it
	return lease.Owner(), nil
}

// End unlocks the name. It returns false if the lock had ended: the hour has passed, or another caller has unlocked it.
func End(ctx context.Context, client *primitives.Client, name, owner string) (bool, error) {
	return client.NewLock(name, nil).ReleaseOwner(ctx, owner)
}
