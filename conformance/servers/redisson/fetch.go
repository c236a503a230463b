package redisson

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
)

//go:embed Peer.java
var program string

//go:embed pom.xml
var project string

// newest is the version of Redisson that Peer.java is compiled with. A method that an older version lacks fails when it
// is called.
var newest = regexp.MustCompile(`<redisson>(.*?)<`).FindStringSubmatch(project)[1]

// Version returns the version of Redisson that runs, such as 3.17.6. HASP_REDISSON may name one.
func Version() string {
	return cmp.Or(regexp.MustCompile(`^\d+\.\d+\.\d+$`).FindString(os.Getenv("HASP_REDISSON")), newest)
}

// javaNeeded is the first version of Java that runs the program.
const javaNeeded = 17

// Prepare has Maven fetch Redisson, once per process. It returns why [Start] would fail: Java 17 or Maven is not on
// PATH, or Maven cannot fetch what it takes.
func Prepare() error {
	if err := installed(); err != nil {
		return err
	}
	_, err := classPaths()
	return err
}

// installed returns an error if Java or Maven is missing, or Java is too old.
func installed() error {
	for _, tool := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("it takes Java %d and Maven: %w", javaNeeded, err)
		}
	}
	out, err := exec.Command("java", "--version").CombinedOutput() // Java 8 does not know it.
	name, version := "", 0
	_, _ = fmt.Sscanf(string(out), "%s %d", &name, &version)
	if err != nil || version < javaNeeded {
		return fmt.Errorf("it takes Java %d, and java --version says %q (error %v)", javaNeeded, out, err)
	}
	return nil
}

// classPaths returns two class paths, as Maven makes them: of the newest version, and of the version that runs.
var classPaths = sync.OnceValues(func() (paths [2]string, err error) {
	dir, err := folder()
	defer func() { _ = os.RemoveAll(dir) }()
	for i, version := range []string{newest, Version()} {
		if err == nil && (i == 0 || version != newest) {
			err = run(dir, "mvn", "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=classpath", "-Dredisson="+version)
		}
		text, missing := os.ReadFile(filepath.Join(dir, "classpath"))
		paths[i], err = string(text), errors.Join(err, missing)
	}
	return paths, err
})

// folder makes a folder that has the program. The caller removes it.
func folder() (dir string, err error) {
	dir, err = os.MkdirTemp("", "redisson")
	for name, text := range map[string]string{"Peer.java": program, "pom.xml": project} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir, err
}

// run runs a tool in folder dir.
func run(dir, tool string, args ...string) error {
	command := exec.Command(tool, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", tool, err, out)
	}
	return nil
}
