package lock

import (
	"context"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/primitives"
)

// Fenced declares the fenced lock.
var Fenced engine.Subject = fenced()

func fenced() *engine.Primitive[Held, In, Out] {
	p := declare("FencedLock", 0, func(
		c *primitives.Client, name string, o *primitives.LockOptions,
	) Locker {
		return c.NewFencedLock(name, o)
	})
	p.Promises["FencedLock.Token"] = `A grant's token is higher than that of every earlier grant of the name.
Re-entry does not raise it. The last one is kept for ever, and LastToken returns it.`
	p.Ops = append(p.Ops, engine.Op[Held, In, Out]{
		Name: "LastToken", Often: 1, Call: lastToken,
		Draw: func(engine.Dice[Held]) In { return In{Op: LastToken} },
	})
	return p
}

func lastToken(ctx context.Context, c *primitives.Client, name string, _ In) (out Out, err error) {
	out.Count, err = c.NewFencedLock(name, nil).LastToken(ctx)
	return out, err
}
