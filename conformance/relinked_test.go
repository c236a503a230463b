package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// noInlining keeps the bodies of our functions out of what other packages know of them.
const noInlining = "-gcflags=github.com/hasp-go/hasp/...=-l"

// errVisible says that other packages must be compiled anew, too.
var errVisible = errors.New("the bug changes what other packages know of its package")

// parts are the compiled packages of the tests of a folder. With a bug in one of them that others cannot see, in
// the body of a function say, the program is that package compiled anew, and linked with the other parts. The go
// command would compile anew whatever depends on the package, which takes several times as long.
type parts struct {
	packages []part
	linked   string // all of them, as the linker wants them listed
}

// part is a package, as go list tells of it.
type part struct {
	ImportPath, Dir, Name, Export string
	GoFiles                       []string
}

// path is what the package is imported by, without a note for which tests it is compiled.
func (p *part) path() string {
	path, _, _ := strings.Cut(p.ImportPath, " ")
	return path
}

// partsOf returns the parts of f's program, which are compiled when somebody first asks for them.
func (b *builds) partsOf(ctx context.Context, f finder) (*parts, error) {
	ctx = context.WithoutCancel(ctx) // Others wait for it, too.
	once, _ := b.parts.LoadOrStore(f.dir, sync.OnceValues(func() (*parts, error) { return f.list(ctx) }))
	return once.(func() (*parts, error))()
}

// list compiles the parts of f's program.
func (f finder) list(ctx context.Context) (*parts, error) {
	out, err := run(ctx, filepath.Join("..", f.dir), "list", "-test", "-deps", "-export", noInlining,
		"-json=ImportPath,Dir,Name,Export,GoFiles", ".")
	if err != nil {
		return nil, err
	}
	p, linked := &parts{}, &strings.Builder{}
	for stream := json.NewDecoder(bytes.NewReader(out)); ; {
		var one part
		if err = stream.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		p.packages = append(p.packages, one)
		if one.Export != "" {
			fmt.Fprintf(linked, "packagefile %s=%s\n", one.path(), one.Export)
		}
	}
	p.linked = linked.String()
	return p, nil
}

// relink makes binary of the parts, with a file in place of the one at path. It works in dir.
func (p *parts) relink(ctx context.Context, dir, path, planted, binary string) error {
	changed := p.has(path)
	if changed == nil {
		return errVisible // to the tests in its own package
	}
	config, archive := filepath.Join(dir, "importcfg"), filepath.Join(dir, "changed.a")
	linked := strings.Replace(p.linked, "="+changed.Export+"\n", "="+archive+"\n", 1)
	if err := os.WriteFile(config, []byte(linked), 0o600); err != nil {
		return err
	}
	args := []string{
		"tool", "compile", "-l", "-pack", "-complete", "-lang=go1.26", "-p", changed.path(),
		"-trimpath", planted + "=>" + path, "-importcfg", config, "-o", archive,
	}
	if _, err := run(ctx, changed.Dir, append(args, changed.filesWith(path, planted)...)...); err != nil {
		return err
	}
	out, err := run(ctx, dir, "tool", "link", "-s", "-w", "-importcfg", config, "-o", binary, p.main())
	if bytes.Contains(out, []byte("fingerprint mismatch")) {
		return errVisible
	}
	return err
}

// has returns the package that the file at path is in, unless it is compiled with tests of its own.
func (p *parts) has(path string) (found *part) {
	for i, one := range p.packages {
		if one.Dir == filepath.Dir(path) && slices.Contains(one.GoFiles, filepath.Base(path)) {
			if found != nil {
				return nil
			}
			found = &p.packages[i]
		}
	}
	return found
}

// filesWith returns the package's files, with planted in place of the one at path.
func (p *part) filesWith(path, planted string) []string {
	files := slices.Clone(p.GoFiles)
	files[slices.Index(files, filepath.Base(path))] = planted
	return files
}

// main is the compiled package main.
func (p *parts) main() string {
	i := slices.IndexFunc(p.packages, func(one part) bool { return one.Name == "main" })
	return p.packages[i].Export
}

// run runs the go command in dir, and returns what it prints.
func run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // Ours.
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", args[0], err, out)
	}
	return out, err
}
