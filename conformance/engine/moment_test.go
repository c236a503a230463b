package engine_test

import (
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// after is a moment so many milliseconds after the start.
func after(ms int) engine.Moment {
	return engine.At(start.Add(time.Duration(ms) * time.Millisecond))
}

// around is a moment that is that uncertain.
func around(ms, guard int) engine.Moment {
	return engine.Moment{From: after(ms - guard).From, To: after(ms + guard).To}
}

const second = time.Second
