// Command lint has the checks of "make lint", for "go vet -vettool". It replaces a collection of a hundred linters, most
// of them unused, whose compilation took longer than the tests'.
//
//   - vet's own, and a nil that is certain to be used, an assignment that nobody sees
//   - staticcheck (with S, ST and U1000): bugs, deprecated calls, needless and unused code
//   - errorlint: wrapped errors are compared by errors.Is and As, for the contract wraps
//   - documented: all that is exported says what it does
//   - misspell: comments are the contract's text
//   - thelper, usetesting: a helper's failure has its caller's line; contexts and folders end with the test
//   - testableexamples: an example without an output is compiled, and never runs
//   - nolint: an allowance, //nolint:name // reason, has both
//
// "lint portable" checks the types of packages for another platform, without compiling what they import. "lint frozen"
// prints what a release freezes.
package main

import (
	"encoding/gob"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	"github.com/kulti/thelper/pkg/analyzer"
	"github.com/ldez/usetesting"
	"github.com/maratori/testableexamples/pkg/testableexamples"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/facts/deprecated"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// left are the checks of staticcheck that are not wanted: each package has one comment (modules_test.go), names need no
// one style, and receivers no one name.
var left = []string{"ST1000", "ST1003", "ST1016"}

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "portable":
			portable(os.Args[2:])
			return
		case "frozen":
			frozen(os.Args[2:])
			return
		}
	}
	all := analyzers()
	if onlyFacts() {
		// What a caller has to know of a package. Facts of other checks, of packages that it imports, need their types.
		register(all)
		all = []*analysis.Analyzer{deprecated.Analyzer, printf.Analyzer, ctrlflow.Analyzer}
	}
	unitchecker.Main(all...)
}

func register(some []*analysis.Analyzer) {
	for _, a := range some {
		for _, fact := range a.FactTypes {
			gob.Register(fact)
		}
		register(a.Requires)
	}
}

// onlyFacts reports whether the package is one that a checked package imports.
func onlyFacts() bool {
	name := os.Args[len(os.Args)-1]
	if !strings.HasSuffix(name, ".cfg") {
		return false
	}
	var unit unitchecker.Config
	text, err := os.ReadFile(name)
	return err == nil && json.Unmarshal(text, &unit) == nil && unit.VetxOnly
}

func analyzers() (all []*analysis.Analyzer) {
	add := func(name string, some ...*analysis.Analyzer) {
		for _, a := range some {
			allow(a, name)
		}
		all = append(all, some...)
	}
	add("govet", slices.Concat(vet.Suite, []*analysis.Analyzer{nilness.Analyzer, unusedwrite.Analyzer})...)
	for _, a := range slices.Concat(staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers) {
		if !slices.Contains(left, a.Analyzer.Name) {
			add("staticcheck", a.Analyzer)
		}
	}
	add("unused", unusedCode)
	add("errorlint", errorlint.NewAnalyzer())
	add("revive", documented)
	add("misspell", misspelled)
	add("thelper", analyzer.NewAnalyzer())
	add("usetesting", usetesting.NewAnalyzer())
	add("testableexamples", testableexamples.NewAnalyzer())
	add("nolint", allowances)
	return all
}
