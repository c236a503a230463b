package redisson

import (
	_ "embed"
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

// Version returns the version of Redisson, such as 4.7.0.
func Version() string {
	return regexp.MustCompile(`<artifactId>redisson</artifactId>\s*<version>(.*?)<`).FindStringSubmatch(project)[1]
}

// javaNeeded is the first version of Java that runs the program.
const javaNeeded = 17

// Prepare has Maven fetch Redisson, once per process. It returns why [Start] would fail: Java 17 or Maven is not on
// PATH, or Maven cannot fetch what it takes.
func Prepare() error {
	if err := installed(); err != nil {
		return err
	}
	_, err := classPath()
	return err
}

// installed returns an error if Java or Maven is missing, or Java is too old.
func installed() error {
	for _, tool := range []string{"java", "mvn"} {
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

// classPath returns the class path of the program, as Maven makes it.
var classPath = sync.OnceValues(func() (path string, err error) {
	err = inFolder(func(dir string) error {
		maven := exec.Command("mvn", "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=classpath")
		maven.Dir = dir
		if out, err := maven.CombinedOutput(); err != nil {
			return fmt.Errorf("mvn: %w\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "classpath"))
		path = string(text)
		return err
	})
	return path, err
})
