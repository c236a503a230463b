package engine

import "time"

// Moment is when something happened: at some time from From to To. In virtual time the two are one,
// and the models that take moments are exact. On real servers a moment is as wide as the call that
// asked, and what the server or the client then may say of a deadline within it is open.
type Moment struct{ From, To time.Time }

// At returns the moment t.
func At(t time.Time) Moment { return Moment{From: t, To: t} }

// Add returns the moment later by d.
func (m Moment) Add(d time.Duration) Moment { return Moment{m.From.Add(d), m.To.Add(d)} }

// IsZero reports whether m is the zero value, which stands for "never".
func (m Moment) IsZero() bool { return m.To.IsZero() }

// before reports whether m surely came before deadline.
func (m Moment) before(deadline Moment) bool { return m.To.Before(deadline.From) }

// past reports whether m surely came at deadline or after it.
func (m Moment) past(deadline Moment) bool { return !m.From.Before(deadline.To) }

// in reports whether a PTTL can be how long it is from a moment to m.
func (m Moment) in(from Moment, left time.Duration) bool {
	least, most := m.From.Sub(from.To), m.To.Sub(from.From)
	return left >= 0 && left > least-time.Millisecond && left < most+time.Millisecond
}
