package check

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

type client = primitives.Client

// asks asks which permissions the user lacks.
type asks = func(ctx context.Context) ([]string, error)

// kinds ask for an object of each kind. Adders are left out: opening one subscribes.
var kinds = map[string]func(c *client, name string) asks{
	"lock":      func(c *client, name string) asks { return c.NewLock(name, nil).MissingRights },
	"mutex":     func(c *client, name string) asks { return c.NewMutex(name, nil).MissingRights },
	"plain":     func(c *client, name string) asks { return c.NewPlainLock(name, nil).MissingRights },
	"fair":      func(c *client, name string) asks { return c.NewFairLock(name, nil).MissingRights },
	"read":      func(c *client, name string) asks { return c.NewReadWriteLock(name, nil).ReadLock().MissingRights },
	"write":     func(c *client, name string) asks { return c.NewReadWriteLock(name, nil).WriteLock().MissingRights },
	"slot":      func(c *client, name string) asks { return c.NewCountingSemaphore(name, 1, nil).MissingRights },
	"once":      func(c *client, name string) asks { return c.NewPeriodicJob(name, time.Hour, nil).MissingRights },
	"memo":      func(c *client, name string) asks { return primitives.NewMemo[int](c, name, nil).MissingRights },
	"elect":     func(c *client, name string) asks { return c.NewElection(name, nil).MissingRights },
	"semaphore": func(c *client, name string) asks { return c.NewSemaphore(name, nil).MissingRights },
	"permits":   func(c *client, name string) asks { return c.NewPermitSemaphore(name, nil).MissingRights },
	"latch":     func(c *client, name string) asks { return c.NewCountDownLatch(name).MissingRights },
	"parts":     func(c *client, name string) asks { return c.NewPartsLatch(name).MissingRights },
	"long":      func(c *client, name string) asks { return c.NewAtomicLong(name).MissingRights },
	"double":    func(c *client, name string) asks { return c.NewAtomicDouble(name).MissingRights },
	"ids":       func(c *client, name string) asks { return c.NewIDGenerator(name).MissingRights },
	"rate": func(c *client, name string) asks {
		return c.NewRateLimiter(name, primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()}).MissingRights
	},
	"inspect": func(c *client, name string) asks { // list, watch and serve, too
		return func(ctx context.Context) ([]string, error) { return inspect.MissingRights(ctx, c, name) }
	},
	"throttle": func(c *client, name string) asks {
		return c.NewThrottle(name, primitives.Limit{Permits: 1, Interval: time.Second},
			&primitives.ThrottleOptions{Unavailable: primitives.Refuse()}).MissingRights
	},
}

// Kinds returns the kinds of objects whose permissions [Gather] can ask for.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// askRights asks for the permissions for objects of the names and kinds. An error ends the questions about a name.
func (f *Facts) askRights(ctx context.Context, c *client, names, of []string) {
	f.Kinds = of
	for _, name := range names {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		for _, kind := range of {
			missing, err := kinds[kind](c, name)(ctx)
			if err != nil {
				f.RightsErr = err
				break
			}
			for _, rule := range missing {
				if !slices.Contains(f.Missing[rule], kind) {
					f.Missing[rule] = append(f.Missing[rule], kind)
				}
			}
		}
	}
}

// rights has a finding for each permission that is missing, with the kinds of objects that need it.
func rights(f *Facts) (all []Finding) {
	const link = "docs/operate/acl.md"
	for _, rule := range slices.Sorted(maps.Keys(f.Missing)) {
		state, needed := Fail, strings.Join(f.Missing[rule], ", ")
		if needed == "inspect" && len(f.Kinds) > 1 { // Programs that hold locks need not read them.
			state = Warn
		}
		all = append(all, Finding{state, "right", rule, "needed by " + needed + ": ACL SETUSER <user> " + rule, nil, link})
	}
	if f.RightsErr != nil {
		state := map[bool]string{true: Unknown, false: Fail}[errors.Is(f.RightsErr, primitives.ErrNotSupported)]
		all = append(all, Finding{state, "rights", f.Name, f.RightsErr.Error(), nil, link})
	}
	if len(all) == 0 {
		all = []Finding{{OK, "rights", f.Name, "", nil, link}}
	}
	return all
}
