package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// process is a server that this program started and stops again.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

func startProcess(name, dir string, argv []string) (*process, error) {
	log, err := os.OpenFile(dir+"/"+name+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// A group of its own, so that Ctrl-C reaches this program alone, which then stops them in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int {
	if p == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

func (p *process) isRunning() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) stop() {
	if p == nil {
		return
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		p.cmd.Process.Kill()
		<-p.done
	}
}

// cpuTime is what all threads of a process, ended ones too, have used, in ns: the same as utime+stime of /proc/PID/stat, which
// counts in ticks of 10 ms. It is not charged for time in which the process was pre-empted.
func cpuTime(pid int) int64 {
	const clockOfProcess = 2
	var ts syscall.Timespec
	if pid <= 0 {
		return 0
	}
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(uint32(int32(^pid<<3|clockOfProcess))), uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		return 0
	}
	return ts.Nano()
}

// memory is a process's resident set now and at its highest since resetPeak, in KiB.
func memory(pid int) (now, peak int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	field := func(name string) (n int64) {
		if _, rest, ok := bytes.Cut(status, []byte(name)); ok {
			fmt.Sscan(string(rest[:min(40, len(rest))]), &n)
		}
		return n
	}
	return field("VmRSS:"), field("VmHWM:")
}

func resetPeak(pid int) {
	os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// busyTime is what the machine's CPUs have worked, in ns, and what its host has kept from them.
func busyTime() (busy, stolen int64) {
	const nsPerTick = 1e7
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	var ticks [10]int64
	for i, s := range strings.Fields(line)[1:] {
		if i < len(ticks) {
			ticks[i], _ = strconv.ParseInt(s, 10, 64)
		}
	}
	user, nice, system, irq, softirq, steal := ticks[0], ticks[1], ticks[2], ticks[5], ticks[6], ticks[7]
	return (user + nice + system + irq + softirq) * nsPerTick, steal * nsPerTick
}
