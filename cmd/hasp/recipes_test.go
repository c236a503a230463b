//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestRecipes runs the command lines of the recipes as they are written, on two hosts each, and compares their times.
func TestRecipes(t *testing.T) {
	t.Parallel()
	read := func(file string) string { return string(must(os.ReadFile("../../docs/command/" + file))(t)) }
	var manifest struct {
		Kind string
		Spec struct {
			JobTemplate struct {
				Spec struct {
					Template struct {
						Spec struct {
							RestartPolicy string `yaml:"restartPolicy"`
							Ends          string `yaml:"terminationGracePeriodSeconds"`
							Containers    []struct{ Command []string }
						}
					}
				}
			} `yaml:"jobTemplate"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read("cronjob.yaml")), &manifest))
	pod := manifest.Spec.JobTemplate.Spec.Template.Spec
	require.Equal(t, []string{"CronJob", "Never"}, []string{manifest.Kind, pod.RestartPolicy})
	unit := regexp.MustCompile(`(?s)ExecStart=/usr/bin/(.*?)\n.*KillMode=mixed\nTimeoutStopSec=(\d+)`).FindStringSubmatch(read("report.service"))
	for name, c := range map[string]struct {
		words []string
		ends  string // in seconds
	}{"Kubernetes": {pod.Containers[0].Command, pod.Ends}, "Systemd": {strings.Fields(unit[1]), unit[2]}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			grace := must(time.ParseDuration(c.words[slices.Index(c.words, "--grace")+1]))(t)
			require.Greater(t, must(time.ParseDuration(c.ends+"s"))(t), grace)
			server, work, dir := startServer(t), newShared(t), t.TempDir()
			require.Equal(t, "hasp", filepath.Base(c.words[0]))
			require.NoError(t, os.Symlink(must(os.Executable())(t), filepath.Join(dir, c.words[len(c.words)-1])))
			for range 2 {
				cmd := exec.CommandContext(t.Context(), binary, c.words[1:]...)
				cmd.Dir, cmd.Env = dir, append(append(os.Environ(), work.env("brief")...), onServer(server.Addr()))
				require.Empty(t, string(must(cmd.CombinedOutput())(t)))
			}
			require.NotEmpty(t, work.owners(t))
			require.EqualValues(t, 1, exist(t, server, "{report}:completed"))
		})
	}
}
