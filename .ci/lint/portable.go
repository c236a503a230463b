package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

// portable checks packages and their tests for Windows, and for 32 bits at once.
func portable(patterns []string) {
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo |
			packages.NeedImports | packages.NeedDeps | packages.NeedTypesSizes | packages.NeedFiles |
			packages.NeedCompiledGoFiles | packages.NeedModule,
		Env:   append(os.Environ(), "GOOS=windows", "GOARCH=386", "CGO_ENABLED=0"),
		Tests: true,
	}, patterns...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if packages.PrintErrors(all) > 0 {
		os.Exit(1)
	}
}
