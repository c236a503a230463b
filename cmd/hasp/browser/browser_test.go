//go:build unix

package browser_test

import (
	"context"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// patience is only there to end a test that has failed.
const patience = time.Minute

// program is the command hasp, on a server.
type program struct {
	path string
	env  []string
}

// build builds the command, and starts a server for it.
func build(t *testing.T) (program, *servers.Server) {
	t.Helper()
	if os.Getenv("HASP_BROWSER") == "" {
		t.Skip("HASP_BROWSER names no Chromium: make browser")
	}
	servers.Need(t, servers.Redis)
	s := servers.Start(t, servers.Redis, nil)
	path := filepath.Join(t.TempDir(), "hasp")
	c := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	c.Dir = ".."
	output, err := c.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program{path, append(os.Environ(), "HASP_URL=redis://"+s.Addr())}, s
}

// start starts the program. It ends with the test.
func (p program) start(t *testing.T, args ...string) (c *exec.Cmd, output io.Reader) {
	t.Helper()
	c = exec.CommandContext(context.Background(), p.path, args...)
	c.Env, c.Stderr = p.env, os.Stderr
	output, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c, output
}

// token opens the pages that have a button.
const token = "a-token-of-the-test"

// serve starts the page at an address, and returns the URL.
func (p program) serve(t *testing.T, listen string, args ...string) (address string, c *exec.Cmd) {
	t.Helper()
	if slices.Contains(args, "--allow-release") {
		file := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(file, []byte(token), 0o600))
		args = append(args, "--token-file", file)
	}
	c, output := p.start(t, append([]string{"serve", "--listen", listen}, args...)...)
	_, err := fmt.Fscanln(output, &address)
	require.NoError(t, err)
	return address, c
}

// tab is a tab of the browser. It accepts each question.
type tab struct {
	context.Context
	address string

	mu    sync.Mutex
	wrong []string // errors, and requests to other hosts
}

// open opens the browser.
func open(t *testing.T, address string) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(os.Getenv("HASP_BROWSER")), chromedp.NoSandbox)
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	b := &tab{Context: ctx, address: address}
	chromedp.ListenTarget(ctx, b.hear)
	b.run(t, log.Enable(), network.Enable(), runtime.Enable())
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		require.Empty(t, b.wrong)
	})
	return b
}

// refusals are answers to a page without a login, and of a proxy without a server, or whose server was killed.
var refusals = regexp.MustCompile(`status of (401|502) |ERR_INCOMPLETE_CHUNKED_ENCODING`)

// visit opens a page, after a login.
func (b *tab) visit(t *testing.T, address string) {
	t.Helper()
	b.run(t, chromedp.Navigate(address), chromedp.SendKeys("#token", token+"\r", chromedp.ByQuery), chromedp.WaitReady("#state", chromedp.ByQuery))
}

// hear notes what is wrong.
func (b *tab) hear(event any) {
	wrong := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		wrong = e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		wrong = fmt.Sprintln("console:", e.Type, e.Args)
	case *log.EventEntryAdded:
		if !refusals.MatchString(e.Entry.Text) {
			wrong = fmt.Sprintln("log:", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.address) {
			wrong = "foreign: " + e.Request.URL
		}
	case *page.EventJavascriptDialogOpening:
		go func() { _ = chromedp.Run(b, page.HandleJavaScriptDialog(true)) }() // It cannot run within a listener.
	}
	if wrong != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.wrong = append(b.wrong, wrong)
	}
}

func (b *tab) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	require.NoError(t, chromedp.Run(b, actions...))
}

// read returns the value of an expression.
func read[T any](t *testing.T, b *tab, expression string) (value T) {
	t.Helper()
	b.run(t, chromedp.Evaluate(expression, &value))
	return value
}

// sees waits until an expression is true, and prints how long that took.
func (b *tab) sees(t *testing.T, what, expression string) {
	t.Helper()
	begin := time.Now()
	for !read[bool](t, b, expression) {
		require.Less(t, time.Since(begin), patience, "%s: %s", what, read[string](t, b, "document.body.innerText"))
		time.Sleep(5 * time.Millisecond)
	}
	t.Logf("%s: after %s", what, time.Since(begin).Round(time.Millisecond))
}

// top is an expression for the newest event: its kind, and its owner.
const top = `[...document.querySelectorAll("#events tr:first-child td")].map(cell => cell.textContent)`

// happens waits until the newest event is of a kind, and another condition holds.
func (b *tab) happens(t *testing.T, kind, and string) {
	t.Helper()
	b.sees(t, kind, fmt.Sprintf(`%s[1] === %q && (%s)`, top, kind, and))
}

// holds is a condition: the card shows the owner of the newest event as the holder.
const holds = `document.querySelector(".holder code")?.textContent === ` + top + `[2]`

// TestPage: while the page of an object is open, it shows what happens to the object.
func TestPage(t *testing.T) {
	t.Parallel()
	hasp, _ := build(t)
	address, _ := hasp.serve(t, anyPort, "--allow-release")
	b := open(t, address)
	b.visit(t, address+"object?name=demo")
	b.happens(t, "gone", `document.querySelector("article .free") !== null`)
	hold := func(args ...string) *os.Process {
		c, _ := hasp.start(t, append(append([]string{"lock", "demo", "--kind", "mutex"}, args...), "--", "sleep", "1000")...)
		return c.Process
	}
	first := hold()
	b.happens(t, "acquired", holds)
	second := hold("--lease", "3s", "--grace", "100ms")
	b.happens(t, "waiting", `document.querySelector("dl").innerText.replace(/\s+/g, " ").startsWith("waiting 1")`)
	require.NoError(t, first.Signal(os.Interrupt))
	b.happens(t, "handed over", holds)
	require.NoError(t, second.Kill())
	b.happens(t, "lost", `document.querySelector(".holder") === null`)
	third := hold()
	b.happens(t, "acquired", holds+` && document.querySelector("progress").value > 0`)
	require.NoError(t, third.Signal(os.Interrupt))
	b.happens(t, "released", `document.querySelector(".holder") === null`)
	hold()
	b.happens(t, "acquired", holds)
	b.run(t, chromedp.Focus("button[data-kind]", chromedp.ByQuery), chromedp.KeyEvent("\r"))
	b.happens(t, "released", `document.querySelector(".holder") === null`)
	owners := `new Set([...document.querySelectorAll("svg .held title")].map(e => e.textContent)).size`
	require.Equal(t, 4, read[int](t, b, owners), "in the graph")
}

// anyPort is an address to listen at.
const anyPort = "127.0.0.1:0"

// TestPageOutlivesTheProgram: an open page says that it is old while a proxy has no server behind it, and is live again
// when the program has been restarted, without a login.
func TestPageOutlivesTheProgram(t *testing.T) {
	t.Parallel()
	hasp, _ := build(t)
	var target *url.URL
	proxy := httptest.NewServer(http.StripPrefix("/locks", &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ErrorLog: stdlog.New(io.Discard, "", 0),
	}))
	t.Cleanup(proxy.Close) // after the browser, which has a stream open
	public := proxy.URL + "/locks"
	address, c := hasp.serve(t, anyPort, "--allow-release", "--public-url", public)
	target, err := url.Parse(address)
	require.NoError(t, err)
	b := open(t, public)
	b.visit(t, public+"/object?name=demo")
	b.happens(t, "gone", `document.querySelector("article .free") !== null`)
	require.NoError(t, c.Process.Kill())
	b.sees(t, "old", `document.body.className === "old" && document.getElementById("state").textContent.includes("or older")`)
	hold, _ := hasp.start(t, "lock", "demo", "--kind", "mutex", "--", "sleep", "1000")
	defer func() { _ = hold.Process.Signal(os.Interrupt) }()
	hasp.serve(t, target.Host, "--allow-release", "--public-url", public)
	b.sees(t, "live", `document.body.className === "" && document.getElementById("state").textContent === "Live." && document.querySelector(".holder") !== null`)
	b.run(t, chromedp.Click("button[data-kind]", chromedp.ByQuery))
	b.sees(t, "released", `document.querySelector(".holder") === null`)
}

// TestPictures makes pictures of both pages, in two widths, light and dark. Nothing is wider than the screen.
func TestPictures(t *testing.T) {
	t.Parallel()
	hasp, _ := build(t)
	folder := os.Getenv("HASP_PICTURES")
	if folder == "" {
		folder = t.TempDir()
	}
	names := strings.Fields("catalogue deploy:shop mails nightly-backup orders prices ready thumbnails writer")
	address, _ := hasp.serve(t, anyPort, append(names, "--allow-release")...)
	b := open(t, address)
	b.visit(t, address+"object?name=nightly-backup")
	b.happens(t, "gone", "true")
	first, _ := hasp.start(t, "lock", "nightly-backup", "--kind", "mutex", "--", "sleep", "1000")
	b.happens(t, "acquired", "true")
	for _, args := range []string{
		"lock nightly-backup --kind mutex", "lock nightly-backup --kind mutex", "lock deploy:shop --metadata version-4.7.1",
		"slot thumbnails -n 4", "slot thumbnails -n 4", "read catalogue", "read catalogue", "write prices",
		"elect writer --value 10.0.3.7:9000", "lock orders --kind fair",
	} {
		hasp.start(t, append(strings.Fields(args), "--", "sleep", "1000")...)
	}
	hasp.start(t, "rate", "mails", "--permits", "10", "--per", "1h", "-n", "3")
	hasp.start(t, "latch", "init", "ready", "3")
	b.sees(t, "two wait", `document.querySelectorAll("svg .waits").length === 2`)
	require.NoError(t, first.Process.Signal(os.Interrupt))
	b.happens(t, "handed over", holds)
	b.shoot(t, folder, "object", holds+` && document.querySelector("svg").viewBox.baseVal.width === document.getElementById("graph").clientWidth`)
	b.run(t, chromedp.Navigate(address))
	b.shoot(t, folder, "index", fmt.Sprint(`document.querySelectorAll("#objects li dl").length === `, len(names)))
}

// shoot makes pictures of a page, once a condition holds.
func (b *tab) shoot(t *testing.T, folder, name, condition string) {
	t.Helper()
	for _, width := range []int64{1280, 380} {
		for _, scheme := range []string{"light", "dark"} {
			features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
			b.run(t, emulation.SetDeviceMetricsOverride(width, 2000, 1, width < 500), emulation.SetEmulatedMedia().WithFeatures(features))
			b.sees(t, fmt.Sprint(name, " at ", width), condition)
			wide := `document.documentElement.scrollWidth > document.documentElement.clientWidth`
			require.False(t, read[bool](t, b, wide), "%s is wider than %d", name, width)
			var picture []byte
			b.run(t, chromedp.FullScreenshot(&picture, 100))
			file := filepath.Join(folder, fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
			require.NoError(t, os.WriteFile(file, picture, 0o600))
			t.Logf("%s: %d bytes", file, len(picture))
		}
	}
}

// TestManyObjects: with 10 000 locks the page shows those that are seen.
func TestManyObjects(t *testing.T) {
	t.Parallel()
	hasp, server := build(t)
	fill := func(name string) {
		_, err := server.Do("EVAL", `redis.call("FLUSHALL")
			for i = 0, 9999 do
				local name = string.format("%s:%04d", ARGV[1], i)
				redis.call("HSET", name, "0123456789abcdef:1", 1)
				redis.call("PEXPIRE", name, 3600000)
			end`, "0", name)
		require.NoError(t, err)
	}
	fill("former")
	address, _ := hasp.serve(t, anyPort, "--reads", "20")
	b := open(t, address)
	b.run(t, emulation.SetDeviceMetricsOverride(1280, 800, 1, false), chromedp.Navigate(address))
	b.sees(t, "the first lock", `document.querySelector(".holder") !== null`)
	b.sees(t, "the list", `document.getElementById("state").textContent.startsWith("Live: 500 names. There are more")`)
	shown := `(() => {
		const seen = [...document.querySelectorAll("#objects li")].filter((e) => {
			const place = e.getBoundingClientRect();
			return place.top < innerHeight && place.bottom > 0;
		});
		return seen.length > 3 && seen.every((e) => e.querySelector(".holder"));
	})()`
	b.sees(t, "all that is on the screen", shown)
	b.run(t, chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight)`, nil))
	b.sees(t, "the last ones", shown)
	fill("job")
	b.sees(t, "others in their place", `(all => all.length === 500 && all.every(e => e.dataset.name.startsWith("job:")))([...document.querySelectorAll("#objects li")])`)
	b.run(t, chromedp.Navigate(address+"?q="+url.QueryEscape("job:987")))
	b.sees(t, "ten that were searched", `document.querySelectorAll("#objects li").length === 10 && `+shown)
}
