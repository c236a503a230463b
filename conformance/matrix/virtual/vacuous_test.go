package virtual_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/must"
)

// doubt makes the Step of a declaration fail where it accepts an answer, and would accept it with any of its fields
// changed, too: such a model finds nothing. Where the time is not known Step may leave much open.
func doubt(p engine.Subject) {
	field := reflect.ValueOf(p).Elem().FieldByName("Step")
	step := reflect.ValueOf(field.Interface())
	field.Set(reflect.MakeFunc(step.Type(), func(args []reflect.Value) []reflect.Value {
		results := step.Call(args)
		at, _ := args[1].Interface().(time.Time)
		accepted := results[1].Bool() && !at.IsZero()
		must.Not(accepted && vacuous(step, args), "%+v of %v: Step accepts any answer", args[2], args[0])
		return results
	}))
}

// vacuous reports whether step accepts its last argument, the answer, with any one of its fields changed.
func vacuous(step reflect.Value, args []reflect.Value) bool {
	out := reflect.New(args[3].Type()).Elem()
	fields := []reflect.Value{out}
	if out.Kind() == reflect.Struct {
		fields = fields[:0]
		for i := range out.NumField() {
			fields = append(fields, out.Field(i))
		}
	}
	for _, field := range fields {
		out.Set(args[3])
		if change(field) && !step.Call([]reflect.Value{args[0], args[1], args[2], out})[1].Bool() {
			return false
		}
	}
	return true
}

// change makes a field another value, if it is of a simple kind.
func change(field reflect.Value) bool {
	switch {
	case field.Kind() == reflect.Bool:
		field.SetBool(!field.Bool())
	case field.Kind() == reflect.String:
		field.SetString(field.String() + "?")
	case field.CanInt():
		field.SetInt(^field.Int())
	default:
		return false
	}
	return true
}

// TestVacuousStepIsFound has a model that looks at one field of the answer, and one that looks at none.
func TestVacuousStepIsFound(t *testing.T) {
	t.Parallel()
	type answer struct {
		Done bool
		N    int64
		Text string
	}
	type state = engine.State[int]
	judged := func(right func(answer) bool) error {
		p := &engine.Primitive[int, string, answer]{
			Step: func(s state, _ time.Time, _ string, out answer) (state, bool) { return s, right(out) },
		}
		doubt(p)
		return must.Catch(func() { p.Step(engine.New(1), time.Now(), "look", answer{N: 5}) })
	}
	require.NoError(t, judged(func(out answer) bool { return !out.Done }))
	require.NoError(t, judged(func(out answer) bool { return out.N == 5 }))
	require.NoError(t, judged(func(out answer) bool { return out.Text == "" }))
	require.NoError(t, judged(func(out answer) bool { return out.Done }), "the answer was wrong")
	require.ErrorContains(t, judged(func(answer) bool { return true }), "look of 1: Step accepts any answer")
}
