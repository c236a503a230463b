package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/must"
)

// Case is one thing that a clause of a contract asks for.
type Case struct {
	// Name is in CamelCase, and unique in the suite.
	Name string

	// Clause is the clause's number, such as "R3" or "Lock.Waiting", and Text what it says.
	Clause, Text string

	// Alone says that the case counts or disturbs what others share, so nothing else may run on the server meanwhile.
	Alone bool

	// Shared is the name without the primitive's, if the case judges what primitives share, such as the
	// watchdog: with -short the first of them stands for all. Empty: it judges its primitive alone.
	Shared string

	// Needs are what a harness must have.
	Needs []Need

	// Run does what the case is about. It fails by package must.
	Run func(ctx context.Context, e *Env)
}

// NewCase returns a case about a clause, whose text promises has.
func NewCase(
	promises map[string]string, name, clause string, needs []Need, run func(ctx context.Context, e *Env),
) Case {
	return Case{Name: name, Clause: clause, Text: promises[clause], Needs: needs, Run: run}
}

// Patience bounds every case: far more than a working backend needs, on a slow machine too.
const Patience = 60 * time.Second

// Skip returns why the case cannot run with h; "" if it can.
func (c Case) Skip(h *Harness) string { return Lacks(h, c.Needs) }

// Lacks returns why h lacks one of needs; "" if it has all.
func Lacks(h *Harness, needs []Need) string {
	for _, missing := range needs {
		if reason := missing(h); reason != "" {
			return reason
		}
	}
	return ""
}

// Check runs the case, which [Case.Skip] must allow, and returns what is wrong, for up to
// [Patience]. The error ends with the text of the clause.
func (c Case) Check(ctx context.Context, h *Harness) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	e := NewEnv(h)
	if err := errors.Join(must.Catch(func() { c.Run(ctx, e) }), must.Catch(e.Close)); err != nil {
		return fmt.Errorf("%w\n\nclause %s:\n    %s", err, c.Clause, strings.ReplaceAll(c.Text, "\n", "\n    "))
	}
	return nil
}
