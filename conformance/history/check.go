package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// ErrUndecided means that the checker ran out of time. A test fails of it: the history must be shorter, or
// know more of its outcomes. A soak, whose histories are drawn, fails of too many.
var ErrUndecided = errors.New("undecided history")

// Violation is the error of a history that no order of its operations explains.
type Violation struct {
	text string // how far the model follows the history
}

// Error reports how far the model follows the history, and the path of its picture.
func (v *Violation) Error() string { return v.text }

// CheckOptions configure [Log.Check]. Nil means the defaults.
type CheckOptions struct {
	// Patience bounds the search. Zero means three minutes, since machines are shared.
	Patience time.Duration

	// Picture is the path of the HTML page that shows a history that failed: which client called what when,
	// and how far the model follows. Empty means none.
	Picture string

	_ struct{}
}

// Check returns nil if model explains the history. Else the error is a [*Violation], or wraps
// [ErrUndecided], or names a call without an outcome. All processes must have ended.
func (l *Log) Check(model porcupine.Model, opts *CheckOptions) error {
	o := CheckOptions{}
	if opts != nil {
		o = *opts
	}
	o.Patience = cmp.Or(o.Patience, 3*time.Minute)
	operations, err := l.operations()
	if err != nil {
		return err
	}
	switch porcupine.CheckOperationsTimeout(model, operations, o.Patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%w: %d operations in %v", ErrUndecided, len(operations), o.Patience)
	}
	return explain(model, operations, o)
}

// operations returns the history in the order of its calls, with what is open ending after all else.
func (l *Log) operations() ([]porcupine.Operation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		return nil, fmt.Errorf("history: %v of process %d has no outcome", c.op.Input, c.op.ClientId)
	}
	end := l.now + 1
	all := slices.Clone(l.done)
	for i := range all {
		if all[i].Return == open {
			all[i].Return = end
		}
	}
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	return all, nil
}

// explain searches again, for the longest order, and draws it.
func explain(model porcupine.Model, operations []porcupine.Operation, o CheckOptions) error {
	_, info := porcupine.CheckOperationsVerbose(model, operations, o.Patience)
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, partial := range partition {
			if len(partial) > len(longest) {
				longest = partial
			}
		}
	}
	v := &Violation{fmt.Sprintf("no order explains the history of %d operations.\n"+
		"The model can follow it up to%s\nbut not to all of%s", len(operations),
		describe(model, longest[max(0, len(longest)-tail):]), describe(model, left(operations, longest)))}
	if o.Picture == "" {
		return v
	}
	if err := porcupine.VisualizePath(model, info, o.Picture); err != nil {
		return errors.Join(v, fmt.Errorf("drawing the history: %w", err))
	}
	v.text += "\npicture: " + o.Picture
	return v
}

// tail is how many operations an error shows.
const tail = 12

// left returns the first operations that an order lacks.
func left(all, order []porcupine.Operation) (missing []porcupine.Operation) {
	for _, op := range all {
		have := slices.ContainsFunc(order, func(in porcupine.Operation) bool {
			return in.ClientId == op.ClientId && in.Call == op.Call
		})
		if !have && len(missing) < tail {
			missing = append(missing, op)
		}
	}
	return missing
}

// describe returns a line for each operation.
func describe(model porcupine.Model, operations []porcupine.Operation) (lines string) {
	for _, op := range operations {
		text := fmt.Sprintf("%v -> %v", op.Input, op.Output)
		if model.DescribeOperation != nil {
			text = model.DescribeOperation(op.Input, op.Output)
		}
		lines += fmt.Sprintf("\n    [%d, %d] process %d: %s", op.Call, op.Return, op.ClientId, text)
	}
	return lines
}
