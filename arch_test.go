package hasp_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Third parties, by import path; "x/..." is x and all below it.
const (
	testify    = "github.com/stretchr/testify/require"
	rapid      = "pgregory.net/rapid"
	porcupine  = "github.com/anishathalye/porcupine"
	goleak     = "go.uber.org/goleak"
	zap        = "go.uber.org/zap/..."
	rueidis    = "github.com/redis/rueidis"
	valkey     = "github.com/valkey-io/valkey-go"
	goredis    = "github.com/redis/go-redis/v9/..."
	redigo     = "github.com/gomodule/redigo/..."
	miniredis  = "github.com/alicebob/miniredis/v2/..."
	gopherlua  = "github.com/yuin/gopher-lua/..."
	promclient = "github.com/prometheus/client_golang/prometheus/..."
	promserver = "github.com/prometheus/prometheus/..."
	promcommon = "github.com/prometheus/common/..."
	otel       = "go.opentelemetry.io/otel/..."
	gocron     = "github.com/go-co-op/gocron/v2"
	grpc       = "google.golang.org/grpc/..."
	cobra      = "github.com/spf13/cobra"
	unix       = "golang.org/x/sys/unix"
)

// rule says what the packages of a folder may import beside the standard library: packages of ours
// by folder, third parties by path. Tests may import their own package and testify beyond that.
type rule struct {
	dir     string
	imports []string
	tests   []string // what tests may import, too
	testing bool     // it may import testing outside of tests
}

// rules say who may import whom. The first whose dir covers a package counts; a package that none
// covers is a fault.
var rules = []rule{
	{dir: "."},
	{dir: "backend"},
	{dir: "backend/fanout", imports: []string{"backend"}},
	{dir: "backend/evalsha", imports: []string{"backend"}},
	{dir: "backend/adapter", imports: []string{"backend", "backend/evalsha", "backend/fanout"}},
	{dir: "backend/scriptcall", imports: []string{"backend"}}, // What luagen makes imports it, and what runs it.
	adapter("backend/rueidis", rueidis, "primitives"),
	adapter("backend/valkey", valkey, "primitives"),
	{dir: "backend/valkey/internal/gen"},
	adapter("backend/goredis", goredis, "primitives"),
	{
		dir: "backend/embedded",
		imports: []string{
			"backend", "backend/adapter", "backend/fanout", "backend/evalsha", "primitives", miniredis, gopherlua,
		},
		tests: []string{adaptertest},
	},
	{
		// For users' tests, which get no other test library of ours by it.
		dir:     "hasptest",
		imports: []string{"backend", "backend/embedded", "primitives", "primitives/extend"},
		tests:   []string{"primitives/trace"},
		testing: true,
	},
	{
		// The tests of primitives, whose module has no server.
		dir: "hasptest/primitives",
		tests: []string{
			"backend", "backend/embedded", "backend/evalsha", "primitives", "primitives/extend", "primitives/inspect", "primitives/lease",
			"primitives/trace", zap,
		},
	},
	{
		dir:     "hasptest/propertytest",
		imports: []string{"hasptest", rapid},
		tests:   []string{"primitives"},
		testing: true,
	},
	{dir: "primitives/trace"},
	{dir: "primitives/internal/script", imports: []string{"backend"}},
	{dir: "primitives/internal/adders", imports: []string{"backend"}},
	{dir: "primitives/internal/dispatch", imports: []string{"backend", "primitives/internal/script"}},
	{dir: "primitives/internal/batch"},
	{dir: "primitives/internal/limits", imports: []string{"primitives/trace"}},
	{dir: "primitives/internal/renew", imports: []string{"backend", "primitives/internal/batch", "primitives/lease", "primitives/trace", zap}},
	{dir: "primitives/internal/orphan", imports: []string{"backend", "primitives/internal/batch", "primitives/trace"}},
	{dir: "primitives/internal/worded"},
	{dir: "primitives/internal/slogzap", imports: []string{zap}},
	{
		dir:     "primitives/internal/rights",
		imports: []string{"backend", "primitives/internal/script", "primitives/internal/worded"},
	},
	{dir: "primitives/internal/listen/...", imports: []string{"backend", zap}},
	// The two ways to wait do not know each other.
	waiting("primitives/internal/wait"),
	waiting("primitives/internal/line"),
	// A lease knows what is held only by an interface.
	{dir: "primitives/internal/leases", imports: []string{"backend", "primitives/internal/worded", "primitives/trace"}},
	{dir: "primitives/lease", imports: []string{"backend", "primitives/internal/leases", "primitives/internal/worded"}},
	{
		dir:     "primitives/extend",
		imports: []string{"backend", "primitives/lease", "primitives/trace", "primitives/internal/...", zap},
		tests:   []string{"primitives"}, // whose client authors get
	},
	// Ours are made of what everybody's are made of, but for a Mutex and objects of several clients.
	{
		dir: "primitives",
		imports: []string{
			"backend", "primitives/extend", "primitives/lease", "primitives/trace", "primitives/internal/script",
			"primitives/internal/adders", "primitives/internal/leases", "primitives/internal/limits", "primitives/internal/line", "primitives/internal/slogzap",
			"primitives/internal/worded", zap,
		},
	},
	{dir: "primitives/inspect", imports: []string{"backend", "primitives", "primitives/extend", "primitives/internal/script"}},
	{
		// It runs scripts, so it is no part of luagen, which needs no driver.
		dir: "luagen/luarun",
		imports: []string{
			"backend", "backend/embedded", "backend/rueidis", "backend/scriptcall", "luagen/internal/...", rueidis,
		},
		tests: []string{"conformance/servers"},
	},
	{dir: "luagen/...", imports: []string{"luagen/internal/..."}},
	{dir: "conformance/must"},
	{dir: "conformance/harness", imports: []string{"backend", "conformance/must"}},
	{dir: "conformance/contract", imports: []string{"backend", "conformance/must", "conformance/harness"}},
	{dir: "conformance/servers/...", imports: []string{"backend", "conformance/servers/...", "conformance/harness"}},
	{dir: "conformance/anylock", testing: true, imports: []string{"conformance/servers", "conformance/servers/proxy"}},
	engine("conformance/engine"),
	engine("conformance/lock", "conformance/engine"),
	engine("conformance/exclusive", "conformance/engine", "conformance/lock"),
	engine("conformance/fairlock", "conformance/engine", "conformance/lock"),
	engine("conformance/readwrite", "conformance/engine", "conformance/lock"),
	engine("conformance/semaphore", "conformance/engine"),
	engine("conformance/permits", "conformance/engine", "conformance/lock"),
	engine("conformance/latch", "conformance/engine"),
	engine("conformance/number", "conformance/engine"),
	engine("conformance/idgenerator", "conformance/engine"),
	engine("conformance/counting", "conformance/engine", "conformance/fairlock", "conformance/lock"),
	engine("conformance/mutex", "conformance/engine", "conformance/lock"),
	engine("conformance/limiter", "conformance/engine", "conformance/lock"),
	engine("conformance/throttle", "conformance/engine"),
	engine("conformance/adder", "conformance/engine"),
	{dir: "conformance/history", imports: []string{porcupine}},
	{
		dir: "conformance/matrix/...",
		imports: []string{
			"backend/...", "primitives", "primitives/extend", "primitives/inspect", "conformance/...", "hasptest",
			testify, rapid, porcupine, zap, goleak, rueidis, valkey, goredis, miniredis,
		},
		testing: true,
	},
	{dir: "conformance/planted", tests: []string{"backend", "conformance/contract"}},
	{dir: "conformance/peers", tests: []string{"conformance/servers"}},
	{
		dir: "conformance",
		imports: []string{
			"backend", "primitives", "conformance/...", testify, rapid, porcupine,
		},
		testing: true,
	},
	{
		dir: "examples/ownbackend", imports: []string{"backend", "backend/adapter", "backend/fanout", "backend/evalsha", redigo},
		tests: []string{"conformance/..."},
	},
	{
		// Somebody else's primitive, too, has nothing but the extension API.
		dir: "examples/ownprimitive/...",
		imports: []string{
			"backend", "primitives", "primitives/extend", "examples/ownprimitive/...",
		},
		// Its tests declare it for the suite, by what the suite offers to everybody.
		tests: []string{
			"backend/embedded", "backend/goredis", "conformance", "conformance/engine", "conformance/servers", goredis,
		},
	},
	{
		// Resources know tokens, and no locks.
		dir:     "examples/fencing",
		imports: []string{"backend"},
		tests:   []string{"backend/embedded", "github.com/jackc/pgx/v5/stdlib", "modernc.org/sqlite"},
	},
	{dir: "examples/miniredis", tests: []string{"backend/goredis", "primitives", goredis, miniredis}},
	{
		// To copy into programs of any driver.
		dir:     "examples/recipes",
		imports: []string{"primitives", "primitives/extend", zap},
		tests:   []string{"backend", "backend/embedded", "backend/goredis", "conformance/servers", goredis},
	},
	{
		// Runners over drivers alone, to copy.
		dir:     "examples/runners",
		imports: []string{"backend", goredis, rueidis, redigo},
		tests:   []string{"conformance/servers"},
	},
	{
		dir:     "examples/programs/...",
		imports: []string{"backend/goredis", "primitives", "modernc.org/sqlite", goredis},
		tests:   []string{"examples/programs/internal/process", "conformance/servers", "hasptest"},
	},
	{
		dir:     "integration/otel",
		imports: []string{"integration/internal/observed", "primitives", "primitives/trace", otel},
		tests:   []string{"backend/embedded", "hasptest"},
	},
	{
		dir:     "integration/prometheus",
		imports: []string{"integration/internal/observed", "primitives", "primitives/trace", promclient},
		tests:   []string{"backend/embedded", "hasptest"},
	},
	{
		dir:   "integration/prometheus/alerts",
		tests: []string{"hasptest", "integration/otel", "integration/prometheus", "primitives", "primitives/trace", otel, promclient, promserver, promcommon},
	},
	{
		dir: "examples/observe",
		imports: []string{
			"backend/embedded", "backend/goredis", "integration/prometheus", "primitives", goredis, promclient,
		},
		tests: []string{"conformance/servers", "hasptest", "primitives/trace"},
	},
	{
		// A driver is the program's choice.
		dir:     "integration/httplimit",
		imports: []string{"integration/internal/limited", "integration/internal/problem", "primitives"},
		tests:   []string{"backend", "backend/embedded", "hasptest", "primitives/trace"},
	},
	{
		dir:     "integration/httpidem",
		imports: []string{"integration/internal/limited", "integration/internal/problem", "primitives"},
		tests:   []string{"backend/embedded", "hasptest"},
	},
	{
		dir: "integration/grpclimit",
		imports: []string{
			"integration/internal/limited", "primitives", grpc,
			"google.golang.org/genproto/googleapis/rpc/errdetails", "google.golang.org/protobuf/types/known/durationpb",
		},
		tests: []string{"backend/embedded", "hasptest", "primitives/trace"},
	},
	{dir: "integration/internal/limited"},
	{dir: "integration/internal/problem"},
	{dir: "integration/internal/observed", imports: []string{"primitives"}},
	{
		dir:     "integration/gocron",
		imports: []string{"primitives", gocron, "github.com/robfig/cron/v3"},
		tests:   []string{"hasptest", "github.com/google/uuid"},
	},
	{
		dir:     "examples/gocron",
		imports: []string{"backend/goredis", "integration/gocron", "primitives", gocron, goredis},
		tests:   []string{"conformance/servers", "hasptest"},
	},
	{
		dir:     "examples/httpidem",
		imports: []string{"backend/goredis", "integration/httpidem", "primitives", goredis},
		tests:   []string{"conformance/servers", "hasptest"},
	},
	{
		dir:     "examples/httplimit",
		imports: []string{"backend/goredis", "integration/httplimit", "primitives", goredis},
		tests:   []string{"conformance/servers", "hasptest"},
	},
	{
		dir: "examples/ownbench",
		imports: []string{
			"bench/benchmark", "bench/drivers", "bench/workloads", "examples/ownbackend", "examples/ownprimitive",
			"primitives", "github.com/gomodule/redigo/redis",
		},
		tests: []string{"conformance/servers"},
	},
	{
		dir: "examples/ownlock",
		tests: []string{
			"backend/embedded", "backend/goredis", "conformance/anylock", "conformance/servers", "primitives", goredis,
		},
	},
	{
		dir:     "examples/...",
		imports: []string{"backend/...", "primitives", zap, rueidis, valkey, goredis},
		tests:   []string{"conformance/servers", "hasptest"},
	},
	{dir: "bench/...", imports: []string{"..."}},
	{dir: "cmd/hasp/browser", tests: []string{"conformance/servers", "github.com/chromedp/..."}},
	{dir: "cmd/hasp/internal/guard", imports: []string{unix}},
	{dir: "cmd/hasp/internal/pages", imports: []string{"cmd/hasp/internal/command", cobra, cobra + "/doc"}},
	{dir: "cmd/hasp/internal/child", imports: []string{"cmd/hasp/internal/guard", unix}}, // It knows no server.
	{
		dir: "cmd/hasp/...", imports: []string{"backend", "backend/rueidis", "cmd/hasp/internal/...", "primitives", "primitives/inspect", cobra, rueidis},
		tests: []string{"conformance", "conformance/servers", "conformance/servers/proxy", "github.com/creack/pty", "github.com/rogpeppe/go-internal/testscript", "go.yaml.in/yaml/v3"},
	},
}

const adaptertest = "backend/adapter/testdata/adaptertest"

// adapter is a rule of an adapter. Ours import package primitives, too, for NewClient.
func adapter(dir string, imports ...string) rule {
	return rule{
		dir: dir, imports: append(imports, "backend", "backend/adapter", "backend/fanout", "backend/evalsha"),
		tests: []string{adaptertest},
	}
}

// waiting is a rule of a way to wait.
func waiting(dir string) rule {
	const listen = "primitives/internal/listen"
	return rule{dir: dir, imports: []string{"backend", listen}, tests: []string{listen + "/testdata/listentest", zap}}
}

// engine is a rule of what derives cases from declarations, or declares.
func engine(dir string, imports ...string) rule {
	return rule{dir: dir, testing: true, imports: append(imports, "backend", "primitives",
		"conformance/must", "conformance/harness", "conformance/history", rapid, porcupine)}
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		for _, fault := range faults(f) {
			t.Error(fault)
		}
	}
}

// TestDoor: other authors' primitives are made of package extend, which is to stay a door: a CountDownLatch and the
// primitive of examples/ownprimitive, by its rule, need nothing else of ours. For a new name of extend, another goes to
// the rooms behind it.
func TestDoor(t *testing.T) {
	t.Parallel()
	names := slices.DeleteFunc(exported(t, "primitives/extend"), func(name string) bool { return !ast.IsExported(name) })
	require.LessOrEqual(t, len(names), 29, "%v", names)
	all := sources(t)
	i := slices.IndexFunc(all, func(f file) bool { return f.name == "primitives/countdownlatch.go" })
	latch := all[i]
	require.Contains(t, latch.imports, module+"/primitives/extend")
	latch.dir = "examples/ownprimitive"
	own := module + "/primitives/internal/script" // its scripts
	latch.imports = slices.DeleteFunc(latch.imports, func(imported string) bool { return imported == own })
	require.Empty(t, faults(latch))
}

// faults returns what breaks the rules in f.
func faults(f file) []string {
	i := slices.IndexFunc(rules, func(r rule) bool { return covers(r.dir, f.dir) })
	if i < 0 {
		return []string{fmt.Sprintf("%s: no rule of arch_test.go covers package %s", f.name, f.dir)}
	}
	var out []string
	for _, imported := range f.imports {
		if !rules[i].allows(f, imported) {
			out = append(out, fmt.Sprintf("%s: %s must not import %s", f.name, f.dir, imported))
		}
	}
	return out
}

func (r rule) allows(f file, imported string) bool {
	target := imported
	if imported == module {
		target = "."
	} else if folder, ours := strings.CutPrefix(imported, module+"/"); ours {
		target = folder
	}
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case first == "testing":
		return f.test || r.testing
	case first == "os" && covers("primitives/...", f.dir) && !f.test:
		return f.name == "primitives/holder.go" // docs/security.md lists what it stores
	case !strings.Contains(first, "."):
		return true // the standard library
	case f.byLuagen:
		return target == "backend" || target == "backend/scriptcall"
	case f.test && (target == testify || target == f.dir):
		return true
	}
	imports := r.imports
	if f.test {
		imports = slices.Concat(imports, r.tests)
	}
	return slices.ContainsFunc(imports, func(allowed string) bool { return covers(allowed, target) })
}

// covers reports whether pattern, which may end with "...", names a folder or an import path.
func covers(pattern, name string) bool {
	tree, isTree := strings.CutSuffix(pattern, "...")
	return pattern == name || isTree && strings.HasPrefix(name+"/", tree)
}

// TestImportRules shows what a rule allows, by some of the rules.
func TestImportRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir, imported string
		test, luagen  bool
		allowed       bool
	}{
		{dir: "backend", imported: module + "/primitives"},
		{dir: "backend", imported: testify},
		{dir: "backend", imported: testify, test: true, allowed: true},
		{dir: "backend", imported: "github.com/stretchr/testify/assert", test: true},
		{dir: "backend", imported: "testing"},
		{dir: "backend", imported: "testing/synctest", test: true, allowed: true},
		{dir: "backend/rueidis", imported: rueidis, allowed: true},
		{dir: "backend/rueidis", imported: rueidis + "/rueidislock"},
		{dir: "backend/goredis", imported: "github.com/redis/go-redis/v9", allowed: true},
		{dir: "backend/postgres", imported: "fmt"},
		{dir: "primitives", imported: "os/user"},
		{dir: "primitives", imported: "os", test: true, allowed: true},
		{dir: "primitives", imported: "time", luagen: true, allowed: true},
		{dir: "primitives", imported: "go.uber.org/zap", luagen: true},
		{dir: "primitives/extend", imported: module + "/primitives"},
		{dir: "primitives/extend", imported: module + "/primitives/internal/wait", allowed: true},
		{dir: "primitives/extend", imported: module + "/primitives", test: true, allowed: true},
		{dir: "conformance", imported: "testing", allowed: true},
	} {
		f := file{dir: c.dir, imports: []string{c.imported}, test: c.test, byLuagen: c.luagen}
		require.Equal(t, c.allowed, len(faults(f)) == 0, "%+v", c)
	}
}
