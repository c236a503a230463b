package primitives_test

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// kind is what pages say of a kind of object, as package primitives has it.
type kind struct {
	java     bool     // Redisson has it, by its doc comment
	lease    bool     // who acquires it gets a lease,
	fence    bool     // whose token is a fence
	replicas bool     // it waits for replicas, by its option,
	clients  bool     // or by its client's
	holder   bool     // a method returns the holder, or how many there are
	methods  []string // of both sides, if it has sides
}

// kinds returns all kinds of objects, by their names.
func kinds(t *testing.T, s *server) map[string]*kind {
	t.Helper()
	c, waits, all := s.client(t, nil), s.client(t, &primitives.Options{Replicas: 1}), map[string]*kind{}
	for name, doc := range constructed(t) {
		k := &kind{java: regexp.MustCompile(`(?s)\nSource: .*Redisson's\s`).MatchString(doc)}
		all[name] = k
		o := construct(t, c, name, "app:"+name, settings{"limit": 2})
		if lock, isLock := o.(*primitives.ReadWriteLock); isLock {
			o, k.methods = lock.WriteLock(), methods(lock.ReadLock())
		}
		k.methods = append(k.methods, methods(o)...)
		k.holder = slices.ContainsFunc(k.methods, func(name string) bool {
			return name == "Holder" || name == "Leader" || name == "Holders"
		})
		hold(t, o, func(lease *primitives.Lease) {
			k.lease, k.fence = true, lease.Token() > 0
			hold(t, o, func(*primitives.Lease) { k.fence = false })
		})
		for has, o := range map[*bool]any{
			&k.replicas: construct(t, c, name, "app:"+name, settings{"Replicas": 1}), &k.clients: construct(t, waits, name, "app:"+name, nil),
		} {
			s.set(func() { s.acks = func(int, time.Duration) acks { *has = true; return acks{n: 1} } })
			hold(t, o, func(*primitives.Lease) {})
			s.set(func() { s.acks = allAck })
		}
	}
	return all
}

// methods returns the names of the methods of o.
func methods(o any) (names []string) {
	for i := range reflect.TypeOf(o).NumMethod() {
		names = append(names, reflect.TypeOf(o).Method(i).Name)
	}
	return names
}

// constructed returns the doc comments of the types that package primitives has constructors of, by name.
func constructed(t *testing.T) map[string]string {
	t.Helper()
	files := must(filepath.Glob("../../primitives/*.go"))(t)
	docs, made := map[string]string{}, map[string]string{}
	for _, file := range files {
		tree := must(parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments))(t)
		for _, d := range tree.Decls {
			if f, isFunc := d.(*ast.FuncDecl); isFunc && !strings.HasSuffix(file, "_test.go") {
				name := regexp.MustCompile(`^(?:New|Open)([A-Z]\w+)$`).FindStringSubmatch(f.Name.Name)
				if name != nil && returns(f, name[1]) {
					made[name[1]] = ""
				}
			}
			if types, isTypes := d.(*ast.GenDecl); isTypes && types.Tok == token.TYPE {
				docs[types.Specs[0].(*ast.TypeSpec).Name.Name] = types.Doc.Text()
			}
		}
	}
	for name := range made {
		made[name] = docs[name]
	}
	return made
}

// returns says whether a function returns a pointer to the type.
func returns(f *ast.FuncDecl, name string) bool {
	pointer, isPointer := f.Type.Results.List[0].Type.(*ast.StarExpr)
	if !isPointer {
		return false
	}
	if generic, is := pointer.X.(*ast.IndexExpr); is {
		pointer.X = generic.X
	}
	of, isName := pointer.X.(*ast.Ident)
	return isName && of.Name == name
}

// settings are fields of options and of limits, by their names, a CountingSemaphore's limit and a job's period.
type settings map[string]any

// construct returns an object of the kind, or a side of one, called name. It has those settings that it can have.
func construct(t *testing.T, c *primitives.Client, kind, name string, with settings) any {
	t.Helper()
	switch kind {
	case "MultiLock":
		lease, _ := with["Lease"].(time.Duration)
		return primitives.NewMultiLock(c.NewLock(name, &primitives.LockOptions{Lease: lease}),
			c.NewFairLock(name+":fair", &primitives.FairLockOptions{Lease: lease}))
	case "Admission":
		limit := primitives.Limit{Permits: 9, Interval: time.Hour}
		return primitives.NewAdmission(c.NewCountingSemaphore(name, 9, nil), c.NewThrottle(name+":rate", limit, refuse).Take(1))
	case "ReadLock":
		return construct(t, c, "ReadWriteLock", name, with).(*primitives.ReadWriteLock).ReadLock()
	case "WriteLock":
		return construct(t, c, "ReadWriteLock", name, with).(*primitives.ReadWriteLock).WriteLock()
	case "CountingSemaphoreByArrival":
		with = maps.Collect(maps.All(with))
		with["Order"], kind = primitives.ByArrival, "CountingSemaphore"
	}
	constructor := constructorOf(c, kind)
	var args []reflect.Value
	for i := range constructor.Type().NumIn() {
		args = append(args, argument(t, constructor.Type().In(i), name, with))
	}
	return constructor.Call(args)[0].Interface()
}

// constructorOf returns what makes objects of the kind.
func constructorOf(c *primitives.Client, kind string) reflect.Value {
	switch kind {
	case "Memo":
		return reflect.ValueOf(func(name string, o *primitives.MemoOptions) *primitives.Memo[int] {
			return primitives.NewMemo[int](c, name, o)
		})
	case "MultiThrottle":
		limit := primitives.Limit{Permits: 1, Interval: time.Hour}
		return reflect.ValueOf(func(name string, o *primitives.MultiThrottleOptions) *primitives.MultiThrottle {
			return primitives.NewMultiThrottle(o, c.NewThrottle(name, limit, refuse).Take(1))
		})
	case "RedLock":
		return reflect.ValueOf(func(name string, o *primitives.RedLockOptions) *primitives.RedLock {
			return primitives.NewRedLock([]*primitives.Client{c}, name, o)
		})
	case "LongAdder", "DoubleAdder":
		return reflect.ValueOf(c).MethodByName("Open" + kind)
	}
	return reflect.ValueOf(c).MethodByName("New" + kind)
}

// argument returns one of a constructor.
func argument(t *testing.T, of reflect.Type, name string, with settings) reflect.Value {
	t.Helper()
	arg := reflect.New(of).Elem()
	fields := arg
	switch arg.Interface().(type) {
	case nil:
		return reflect.ValueOf(t.Context())
	case string:
		return reflect.ValueOf(name)
	case time.Duration:
		period, _ := with["period"].(time.Duration)
		return reflect.ValueOf(cmp.Or(period, time.Hour))
	case int:
		limit, _ := with["limit"].(int)
		return reflect.ValueOf(max(limit, 1))
	case primitives.Limit, primitives.Rate:
		fields.FieldByName("Permits").SetInt(2)
	default:
		arg.Set(reflect.New(of.Elem()))
		fields = arg.Elem()
	}
	for _, some := range []settings{{"Interval": time.Hour, "Unavailable": primitives.Refuse(), "Timeout": time.Minute}, with} {
		for name, value := range some {
			if field := fields.FieldByName(name); field.IsValid() {
				field.Set(reflect.ValueOf(value).Convert(field.Type()))
			}
		}
	}
	return arg
}

// hold calls while with a lease of the object, unless that has none, or another has it.
func hold(t *testing.T, object any, while func(*primitives.Lease)) {
	t.Helper()
	var lease *primitives.Lease
	var err error
	work := func(_ context.Context, lease *primitives.Lease) error {
		while(lease)
		return nil
	}
	if permits, counts := object.(*primitives.PermitSemaphore); counts {
		require.NoError(t, errOf(permits.InitPermits(t.Context(), 2)))
	}
	if try := tries(object, 1); try != nil {
		lease, err = try(t.Context())
	}
	switch o := object.(type) {
	case *primitives.PeriodicJob:
		_, _ = o.TryDo(t.Context(), time.Now(),
			func(ctx context.Context, run primitives.JobRun) error { return work(ctx, run.Lease) })
	case *primitives.Memo[int]:
		_ = errOf(o.Forget(t.Context(), "k"))
		_, _, _ = o.TryDo(t.Context(), "k",
			func(ctx context.Context, run primitives.MemoRun) (int, error) { return 0, work(ctx, run.Lease) })
	case *primitives.Election:
		_ = o.Run(within(t, 5*time.Second), work)
	}
	if lease != nil && err == nil {
		while(lease)
		require.NoError(t, lease.Release(t.Context()))
	}
}

// TestKindsAreDocumented compares what pages say of kinds of objects with package primitives.
func TestKindsAreDocumented(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		all := kinds(t, s)
		require.Greater(t, len(all), 15)
		requireAbilities(t, all)
		requireJava(t, all)
		requireMethods(t, all)
		requireCluster(t, s)
		requireLock(t, s)
		requireReader(t, s)
		for name := range all {
			require.Contains(t, page(t, "internals/keys-and-messages.md"), "`"+name+"`")
		}
	})
}

// requireAbilities compares the table of all kinds.
func requireAbilities(t *testing.T, all map[string]*kind) {
	t.Helper()
	elsewhere := []string{"no", "as an `RLock`", "one for each lock", "of its locks", "the client's"}
	listed := map[string]bool{}
	for _, row := range rows(t, "choosing.md", "| | Java | lease | fencing token | order of waiters | `Replicas` | `Holder` |") {
		names := quoted(row[0])
		if row[0] == "all others" {
			names = slices.DeleteFunc(slices.Collect(maps.Keys(all)), func(name string) bool { return listed[name] })
		}
		for _, name := range names {
			require.NotNil(t, all[name], name)
			require.False(t, listed[name], name)
			listed[name] = true
			k := all[name]
			for column, has := range map[int]bool{1: k.java, 2: k.lease, 3: k.fence, 5: k.replicas, 6: k.holder} {
				require.Equal(t, !has, slices.Contains(elsewhere, row[column]), "%s: %s", name, row[column])
			}
			require.Equal(t, k.clients, row[5] != "no", "%s: %s", name, row[5])
		}
	}
	require.Len(t, listed, len(all))
	advice, _, _ := strings.Cut(page(t, "choosing.md"), "\n| | Java |")
	require.Subset(t, quoted(advice), slices.Collect(maps.Keys(all)))
	drawn := regexp.MustCompile(`\w+`).FindAllString(page(t, "pictures/choice.svg"), -1)
	require.Subset(t, drawn, slices.Collect(maps.Keys(all)))
}

// requireJava compares the kinds that Redisson lacks, and those that its versions share.
func requireJava(t *testing.T, all map[string]*kind) {
	t.Helper()
	var java, others []string
	for name, k := range all {
		if k.java {
			java = append(java, name)
		} else {
			others = append(others, name)
		}
	}
	text := page(t, "redisson.md")
	require.ElementsMatch(t, others, quoted(regexp.MustCompile(`(?s)Java has no .*? while it runs`).FindString(text)))
	shared := []string{"MultiLock", "RedLock", "AtomicLong", "AtomicDouble"} // The first are made of locks, the last not named.
	for _, row := range rows(t, "redisson.md", "| Redisson | objects |") {
		shared = append(shared, quoted(row[1])...)
	}
	require.ElementsMatch(t, java, shared)
}

// requireMethods requires that the table of holders has each kind with a lease, and names methods that it has.
func requireMethods(t *testing.T, all map[string]*kind) {
	t.Helper()
	listed := []string{"MultiLock", "RedLock"} // They are made of locks.
	for _, row := range rows(t, "operate/on-call.md", "| object | command on the server | in code |") {
		for _, name := range quoted(row[0]) {
			require.Subset(t, all[name].methods, quoted(row[2]), name)
			listed = append(listed, name)
		}
	}
	for name, k := range all {
		require.True(t, !k.lease || slices.Contains(listed, name), name)
		require.Equal(t, slices.Contains(k.methods, "Revoke"), name == "ReadWriteLock" || slices.Contains(slices.Collect(maps.Keys(revocables)), name), name)
	}
}

// requireCluster compares the command for a cluster with the rights that sharded messages need, and the adapters' own.
func requireCluster(t *testing.T, s *server) {
	t.Helper()
	rules := []string{"+cluster|slots", "+cluster|shards", "+asking", "+pubsub|shardnumsub"}
	one := s.client(t, nil).NewLock("app:x", nil).Rights()
	can := backend.Capabilities{Cluster: true, PubSub: true, Sharded: true}
	for _, rule := range s.over(t, &limited{server: s, can: can}, nil).NewLock("app:x", nil).Rights() {
		if !slices.Contains(one, rule) {
			rules = append(rules, rule)
		}
	}
	commands := regexp.MustCompile(`(?m)^ACL SETUSER app (.*)$`).FindAllStringSubmatch(page(t, "operate/acl.md"), -1)
	require.ElementsMatch(t, rules, strings.Fields(commands[1][1]))
}

// requireLock compares the command for a lock alone with its rights, and those that the drivers need.
func requireLock(t *testing.T, s *server) {
	t.Helper()
	rules := append(s.over(t, &limited{server: s, can: backend.Capabilities{PubSub: true}}, nil).NewLock("app:x", nil).Rights(),
		"on", ">PASSWORD", "resetkeys", "resetchannels", "-@all", "+client|tracking", "+hello", "+ping")
	command := regexp.MustCompile(`(?m)^ACL SETUSER locks (.*)$`).FindStringSubmatch(page(t, "operate/acl.md"))
	require.ElementsMatch(t, rules, strings.Fields(command[1]))
}

// requireReader compares the commands for a reader with the rules of [reading], and in a cluster with those of other
// users, but for PUBLISH. With HASP_WRITE=1 it writes the first.
func requireReader(t *testing.T, s *server) {
	t.Helper()
	text := page(t, "operate/acl.md")
	all := regexp.MustCompile(`(?m)^ACL SETUSER (?:app|reader) (.*)$`).FindAllStringSubmatch(text, -1)
	rules := reading(t, s)
	for _, rule := range strings.Fields(all[0][1]) {
		if rule[0] == '&' && !strings.HasSuffix(rule, "topic") { // Adders keep nothing that could be read.
			rules = append(rules, rule)
		}
	}
	slices.Sort(rules)
	want := "on >PASSWORD resetkeys resetchannels -@all " + strings.Join(slices.Compact(rules), " ")
	if os.Getenv("HASP_WRITE") != "" {
		text = strings.Replace(text, all[3][1], want, 1)
		require.NoError(t, os.WriteFile("../../docs/operate/acl.md", []byte(text), 0o644))
		return
	}
	require.Equal(t, want, all[3][1], "HASP_WRITE=1 go test -run TestKindsAreDocumented writes the page")
	require.Equal(t, strings.ReplaceAll(all[1][1], " +spublish", ""), all[4][1])
}

// reading returns the rules for the keys that Describe reads, the commands of its script, and those of List, Watch and
// the driver.
func reading(t *testing.T, s *server) []string {
	t.Helper()
	rules := strings.Fields("+client|tracking +evalsha_ro +hello +ping +scan +script|load +subscribe +unsubscribe")
	script := must(os.ReadFile("../../primitives/internal/script/inspect_keys.lua.go"))(t)
	for _, call := range regexp.MustCompile(`redis\.call\('(\w+)'`).FindAllSubmatch(script, -1) {
		rules = append(rules, "+"+string(call[1]))
	}
	s.set(func() {
		s.seen = func(_ string, keys, _ []string) {
			for _, key := range keys {
				begin, _, _ := strings.Cut(key, "app:")
				rules = append(rules, "%R~"+begin+"app:*")
			}
		}
	})
	for _, name := range []string{"app:x", "app:{x}", "{app:x}"} {
		require.Empty(t, must(inspect.Describe(t.Context(), s.client(t, nil), name))(t))
	}
	s.set(func() { s.seen = nil })
	return rules
}

// page returns a page of docs.
func page(t *testing.T, name string) string {
	t.Helper()
	return string(must(os.ReadFile("../../docs/" + name))(t))
}

// rows returns the cells of the table with this header.
func rows(t *testing.T, name, header string) (all [][]string) {
	t.Helper()
	_, table, found := strings.Cut(page(t, name), "\n"+header+"\n")
	require.True(t, found, "%s: %s", name, header)
	for _, line := range strings.Split(table, "\n")[1:] {
		if !strings.HasPrefix(line, "|") {
			break
		}
		all = append(all, strings.Split(strings.Trim(line, "| "), " | "))
	}
	return all
}

// quoted returns what stands between backticks.
func quoted(text string) (all []string) {
	for _, q := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		all = append(all, q[1])
	}
	return all
}
