package recipes

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// SendInvoice sends an invoice under a lock that Java processes use, too: as their getLock("invoice:42"). It waits for
// the lock for 10 s.
func SendInvoice(ctx context.Context, client *primitives.Client, send func(ctx context.Context) error) error {
	waiting, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	lease, err := client.NewLock("invoice:42", nil).Lock(waiting)
	if err != nil {
		return err // context.DeadlineExceeded: another process sends it.
	}
	return lease.Do(ctx, send) // It releases. The context of send ends if the lock is lost.
}
