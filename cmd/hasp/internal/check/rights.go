package check

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// object can ask which permissions the user lacks for it.
type object interface {
	MissingRights(ctx context.Context) ([]string, error)
}

// Missing is a permission that the user lacks.
type Missing struct {
	Rule  string // as in ACL SETUSER
	Kinds []string
}

type client = primitives.Client

// kinds make objects of each kind. Adders are left out: opening one subscribes.
var kinds = map[string]func(c *client, name string) object{
	"lock":      func(c *client, name string) object { return c.NewLock(name, nil) },
	"mutex":     func(c *client, name string) object { return c.NewMutex(name, nil) },
	"fair":      func(c *client, name string) object { return c.NewFairLock(name, nil) },
	"read":      func(c *client, name string) object { return c.NewReadWriteLock(name, nil).ReadLock() },
	"write":     func(c *client, name string) object { return c.NewReadWriteLock(name, nil).WriteLock() },
	"slot":      func(c *client, name string) object { return c.NewCountingSemaphore(name, 1, nil) },
	"once":      func(c *client, name string) object { return c.NewPeriodicJob(name, time.Hour, nil) },
	"elect":     func(c *client, name string) object { return c.NewElection(name, nil) },
	"semaphore": func(c *client, name string) object { return c.NewSemaphore(name, nil) },
	"permits":   func(c *client, name string) object { return c.NewPermitSemaphore(name, nil) },
	"latch":     func(c *client, name string) object { return c.NewCountDownLatch(name) },
	"long":      func(c *client, name string) object { return c.NewAtomicLong(name) },
	"double":    func(c *client, name string) object { return c.NewAtomicDouble(name) },
	"ids":       func(c *client, name string) object { return c.NewIDGenerator(name) },
	"rate":      func(c *client, name string) object { return c.NewRateLimiter(name, nil) },
	"throttle": func(c *client, name string) object {
		return c.NewThrottle(name, primitives.Limit{Permits: 1, Interval: time.Second},
			&primitives.ThrottleOptions{Unavailable: primitives.Refuse})
	},
}

// Kinds returns the kinds of objects whose permissions [Gather] can ask for.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// askRights asks for the permissions for objects of the names and kinds. An error ends the questions about a name.
func (f *Facts) askRights(ctx context.Context, c *client, names, of []string) {
	for _, name := range names {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		for _, kind := range of {
			missing, err := kinds[kind](c, name).MissingRights(ctx)
			if err != nil {
				f.RightsErr = err
				break
			}
			for _, rule := range missing {
				f.lacks(rule, kind)
			}
		}
	}
}

// lacks notes a permission that is missing for a kind.
func (f *Facts) lacks(rule, kind string) {
	i := slices.IndexFunc(f.Missing, func(m Missing) bool { return m.Rule == rule })
	if i < 0 {
		i, f.Missing = len(f.Missing), append(f.Missing, Missing{Rule: rule})
	}
	if m := &f.Missing[i]; !slices.Contains(m.Kinds, kind) {
		m.Kinds = append(m.Kinds, kind)
	}
}
