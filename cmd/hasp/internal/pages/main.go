// Command pages writes the pages about the command hasp from its flags: docs/command-reference.md, and man pages for
// packagers. So the command itself does not have the library that makes man pages.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"log"
	"os"
	"text/template"

	"github.com/spf13/cobra/doc"

	"github.com/hasp-go/hasp/cmd/hasp/internal/command"
)

// reference is the page of all commands. Cobra's GenMarkdown repeats the flags of all under each: twice as long.
//
//go:embed reference.tmpl
var reference string

func main() {
	page := flag.String("reference", "", "the file to write the reference to")
	man := flag.String("man", "", "an existing folder to write man pages to")
	flag.Parse()
	root, err := command.Root(), error(nil)
	root.InitDefaultCompletionCmd("")
	if *page != "" {
		var text bytes.Buffer
		err = template.Must(template.New("").Parse(reference)).Execute(&text, root)
		err = errors.Join(err, os.WriteFile(*page, text.Bytes(), 0o644)) //nolint:gosec // It is for all.
	}
	if *man != "" {
		err = errors.Join(err, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "hasp"}, *man))
	}
	if err != nil {
		log.Fatal(err)
	}
}
