package primitives_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

func TestSpinLockRefusesBadDelays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeServer().client(t, nil)
		for field, opts := range map[string]primitives.SpinLockOptions{
			"FirstDelay": {FirstDelay: time.Microsecond},
			"MaxDelay":   {FirstDelay: 2 * time.Second, MaxDelay: time.Second},
			"Lease":      {Lease: time.Millisecond},
		} {
			_, err := c.NewSpinLock("x", &opts).Lock(t.Context())
			var bad *primitives.FieldError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, field, bad.Field)
		}
		long := &primitives.SpinLockOptions{FirstDelay: time.Second} // MaxDelay is as long then.
		_, err := c.NewSpinLock("", long).Lock(t.Context())
		require.ErrorContains(t, err, "name")
	})
}
