// Package hook has what package extend does for package primitives alone. Package extend sets the functions.
package hook

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// Repeat tries until try is granted, as extend.Object's Wait does, for several clients, and so for no single object:
// it waits only by pauses. After an error the caller must hold nothing: once it was refused, Repeat also continues
// after an unknown outcome.
var Repeat func(
	ctx context.Context, pauses wait.Backoff, refusal error, try func(ctx context.Context) (granted bool, err error),
) error

// Completed reports to the client's tracer that object, an *extend.Object of a periodic job, has completed a period.
var Completed func(object any, period time.Time)
