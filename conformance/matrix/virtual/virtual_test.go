package virtual_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
	"github.com/hasp-go/hasp/conformance/must"
)

var doubted doubts

// TestMain doubts all declarations. Unless a number is given, it draws 100 random walks of a kind for the whole matrix,
// otherwise 50, of which rapid makes 10 with -short.
func TestMain(m *testing.M) {
	flag.Parse()
	if walks := flag.Lookup("rapid.checks"); !cells.Whole() && walks.Value.String() == walks.DefValue {
		_ = walks.Value.Set("50")
	}
	for _, p := range conformance.Primitives() {
		doubted.doubt(p)
	}
	os.Exit(cells.Main(m))
}

// TestEmbedded runs the whole suite in real time. It comes before the others, which keep all processors busy: its
// cases have a minute each.
func TestEmbedded(t *testing.T) { //nolint:paralleltest // See above.
	h := virtual.Harness()
	h.Bubble = nil
	report := conformance.Run(t, h)
	if len(report.Passed)+len(report.Failed)+len(report.Skipped) < len(conformance.Cases()) {
		return // By -run.
	}
	want := []string{
		harness.Sharded.Reason, harness.HasClient.Reason, harness.SkipNoMessages, harness.NoPubSub.Reason, harness.Faults.Reason,
		harness.FailOver.Reason, harness.Isolate.Reason, harness.Migrate.Reason, harness.Restart.Reason, harness.Pause.Reason,
		harness.ClientList.Reason, harness.Cluster.Reason,
	}
	if testing.Short() {
		want = append(want, harness.SkipShared)
	}
	require.ElementsMatch(t, want, report.Reasons())
}

// TestHistories checks recorded histories of every primitive, in virtual time.
func TestHistories(t *testing.T) {
	t.Parallel()
	conformance.Run(t, virtual.Harness(), conformance.PartHistories)
}

// TestProperties drives every primitive beside its exact model, in virtual time. A model that explains an answer must
// not explain another one in its place.
func TestProperties(t *testing.T) {
	t.Parallel()
	conformance.Run(t, virtual.Harness(), conformance.PartProperties)
	doubted.check(t)
}

// unjudged are the fields of answers, by verb, that Step is not to look at, with the reason.
var unjudged = map[string]string{
	"acquire granted: Owner": "Answers takes it from the request",
	"acquire refused: Token": "a token that is not positive means that there is none",
	"beat: Owner":            "Hold.Grant takes it, and a waiter that it does not name stays one",
}

// doubts are what the Steps of declarations make of answers that are wrong in one field. It is safe for concurrent use.
type doubts struct {
	mu       sync.Mutex
	judged   map[string]int               // accepted answers, by declaration
	fields   map[string]map[string]*doubt // by declaration, then by verb and field
	invented bool                         // answers are made up, with any field set
}

// doubt is about one field of the answers to one verb.
type doubt struct {
	matters bool   // it was set in an answer that Step accepts, or Step has refused another value of it
	lenient string // an answer of which Step also accepts another value; "": there was none
}

// doubt makes the Step of a declaration fail where it accepts an answer, and would accept it with any of its fields
// changed, too: such a model finds nothing. It notes each field of which Step accepts another value. Where the time is
// not known Step may leave much open.
func (d *doubts) doubt(p engine.Subject) {
	of := reflect.ValueOf(p).Elem()
	field := of.FieldByName("Step")
	step := reflect.ValueOf(field.Interface())
	field.Set(reflect.MakeFunc(step.Type(), func(args []reflect.Value) []reflect.Value {
		results := step.Call(args)
		if at, _ := args[1].Interface().(time.Time); results[1].Bool() && !at.IsZero() {
			accepts := func(out reflect.Value) bool {
				return step.Call([]reflect.Value{args[0], args[1], args[2], out})[1].Bool()
			}
			must.Not(!d.refuses(of, args, accepts), "%+v of %v: Step accepts any answer", args[2], args[0])
		}
		return results
	}))
}

// refuses reports whether Step refuses one of the answers that differ in one field from its last argument.
func (d *doubts) refuses(of reflect.Value, args []reflect.Value, accepts func(out reflect.Value) bool) (one bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, verb := of.FieldByName("Name").String(), verbOf(of, args)
	if d.judged == nil {
		d.judged, d.fields = map[string]int{}, map[string]map[string]*doubt{}
	}
	if d.judged[name]++; d.fields[name] == nil {
		d.fields[name] = map[string]*doubt{}
	}
	out := reflect.New(args[3].Type()).Elem()
	out.Set(args[3])
	simple(out, "", func(path string, field reflect.Value) {
		key := verb + ":" + path
		f := d.fields[name][key]
		if f == nil {
			f = &doubt{}
			d.fields[name][key] = f
		}
		is := reflect.ValueOf(field.Interface())
		for _, other := range others(is, args) {
			field.Set(other)
			if seen(of, out) == seen(of, args[3]) {
				continue
			}
			accepted := accepts(out)
			one = one || !accepted
			f.matters = f.matters || !accepted || !is.IsZero() && !d.invented
			if accepted && f.lenient == "" {
				f.lenient = fmt.Sprintf("%+v of %v: %+v, and %+v", args[2], args[0], args[3], out)
			}
		}
		field.Set(is)
	})
	return one
}

// verbOf returns the verb of what the arguments of Step ask for, and for what Granted looks at whether it was granted.
func verbOf(of reflect.Value, args []reflect.Value) string {
	verb, granted := of.FieldByName("Verb").Call(args[2:3])[0].String(), of.FieldByName("Granted")
	switch {
	case granted.IsNil() || verb != "acquire":
		return verb
	case granted.Call(args[3:])[0].Bool():
		return verb + " granted"
	}
	return verb + " refused"
}

// seen is what the caller sees of an answer.
func seen(of, out reflect.Value) any {
	if view := of.FieldByName("CallerView"); !view.IsNil() {
		out = view.Call([]reflect.Value{out})[0]
	}
	return out.Interface()
}

// simple calls do for each field of v that is no struct, or for v itself.
func simple(v reflect.Value, path string, do func(path string, field reflect.Value)) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			simple(v.Field(i), path+" "+v.Type().Field(i).Name, do)
		}
	case v.CanSet():
		do(path, v)
	}
}

// others are values that a field could have instead. A number could be the next or the last one, 0, or a number in
// the object or in the request. A time is right within a millisecond or two. A negative time says that there is no end,
// or no key, and so may 0.
func others(is reflect.Value, args []reflect.Value) (all []reflect.Value) {
	add := func(v any) {
		if other := reflect.ValueOf(v).Convert(is.Type()); !slices.ContainsFunc(append(all, is), other.Equal) {
			all = append(all, other)
		}
	}
	switch {
	case is.Kind() == reflect.Bool:
		add(!is.Bool())
	case is.Kind() == reflect.String:
		add(is.String() + "?")
		add("")
	case is.Type() == reflect.TypeFor[time.Duration]():
		add(max(is.Int(), 0) + int64(time.Second))
		if is.Int() >= 0 {
			add(is.Int() - int64(time.Second))
			add(-is.Int() - int64(time.Second))
		}
	case is.CanInt():
		for _, n := range []int64{^is.Int(), is.Int() - 1, is.Int() + 1, 0} {
			add(n)
		}
		for _, from := range []reflect.Value{args[0], args[2]} {
			copied := reflect.New(from.Type()).Elem()
			copied.Set(from)
			simple(copied, "", func(_ string, field reflect.Value) {
				if field.CanInt() && field.Type() != reflect.TypeFor[time.Duration]() {
					add(field.Int())
				}
			})
		}
	}
	return all
}

// begin asks a declaration for all that can happen first to some objects, with answers of one field: a walk may not
// come to what only an object that was never made answers.
func begin(p engine.Subject) {
	of := reflect.ValueOf(p).Elem()
	step, states := of.FieldByName("Step"), []reflect.Value{reflect.New(of.FieldByName("Init").Type()).Elem()}
	states = append(states, of.FieldByName("Init"), of.FieldByName("Some"))
	if edge := of.FieldByName("Edge"); !edge.IsNil() {
		states = append(states, edge.Elem())
	}
	for _, s := range states {
		for i := range of.FieldByName("Ops").Len() {
			generate := of.FieldByName("Ops").Index(i).FieldByName("Generate")
			for which := range 6 {
				d := reflect.New(generate.Type().In(0)).Elem()
				for name, v := range map[string]any{"Which": which, "For": time.Minute, "Fixed": time.Minute, "At": start} {
					d.FieldByName(name).Set(reflect.ValueOf(v))
				}
				d.FieldByName("Now").Set(s)
				args := []reflect.Value{s, reflect.ValueOf(start), generate.Call([]reflect.Value{d})[0]}
				out := reflect.New(step.Type().In(3)).Elem()
				args = append(args, out)
				step.Call(args)
				simple(out, "", func(_ string, field reflect.Value) {
					is := reflect.ValueOf(field.Interface())
					for _, other := range others(is, args) {
						field.Set(other)
						step.Call(args)
					}
					field.Set(is)
				})
			}
		}
	}
}

// start is a time by the server's clock.
var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// lenient lists the fields of which a Step accepts another value, though they are something.
func (d *doubts) lenient() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.fields)) {
		for _, key := range slices.Sorted(maps.Keys(d.fields[name])) {
			if f := d.fields[name][key]; f.matters && f.lenient != "" && unjudged[key] == "" {
				all = append(all, name+": Step accepts two answers that differ in "+key+": "+f.lenient)
			}
		}
	}
	return all
}

// check fails if a Step was lenient, or if one of all declarations has accepted nothing, unless -run has left some out.
func (d *doubts) check(t *testing.T) {
	t.Helper()
	for _, p := range conformance.Primitives() {
		d.invented = true
		require.NoError(t, must.Catch(func() { begin(p) }))
	}
	require.Empty(t, strings.Join(d.lenient(), "\n"))
	for _, p := range conformance.Primitives() {
		if !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
			require.Positive(t, d.judged[p.String()], p)
		}
	}
}

// TestVacuousStepIsFound has models that look at one field of the answer, at none, and that accept one more value.
func TestVacuousStepIsFound(t *testing.T) {
	t.Parallel()
	type answer struct {
		Done bool
		N    int64
		Text string
	}
	type state = engine.State[int]
	judged := func(right func(answer) bool) (found []string, err error) {
		p := &engine.Primitive[int, string, answer]{
			Step: func(s state, _ time.Time, _ string, out answer) (state, bool) { return s, right(out) },
			Verb: func(in string) string { return in },
		}
		var d doubts
		d.doubt(p)
		err = must.Catch(func() { p.Step(engine.New(9), time.Now(), "look", answer{N: 5}) })
		return d.lenient(), err
	}
	for name, c := range map[string]struct {
		right  func(out answer) bool
		found  int
		vacant string
	}{
		"AllOfIt":           {right: func(out answer) bool { return out == answer{N: 5} }},
		"Wrong":             {right: func(out answer) bool { return out.Done }},
		"NotWhatIsNeverSet": {right: func(out answer) bool { return out.N == 5 }},
		"Anything":          {right: func(answer) bool { return true }, vacant: "look of 9: Step accepts any answer"},
		"OneMore":           {right: func(out answer) bool { return out.N == 5 || out.N == 6 }, found: 1},
		"Object":            {right: func(out answer) bool { return out.N == 5 || out.N == 9 }, found: 1},
		"Any":               {right: func(out answer) bool { return !out.Done }, found: 1},
	} {
		found, err := judged(c.right)
		if c.vacant != "" {
			require.ErrorContains(t, err, c.vacant)
			continue
		}
		require.NoError(t, err, name)
		require.Len(t, found, c.found, name)
		require.Equal(t, c.found, strings.Count(strings.Join(found, ""), "Step accepts two answers that differ in look: N"))
	}
}
