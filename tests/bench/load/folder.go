package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// folder is where everything of a run is: certificates, tokens, logs, etcds' data. On tmpfs where there is one, so that disks
// do not matter.
type folder struct {
	path  string
	token string      // an administrator's
	plain string      // the token of user "plain", who may do what RBAC says
	tls   *tls.Config // of a client
	front *tls.Config // of a client that may say for whom it asks
}

const tmpfsMagic = 0x01021994

const frontProxy = "front-proxy" // the name in its certificate, and that of its files

func newFolder() (*folder, error) {
	parent := ""
	var fs syscall.Statfs_t
	if syscall.Statfs("/dev/shm", &fs) == nil && fs.Type == tmpfsMagic {
		parent = "/dev/shm"
	}
	path, err := os.MkdirTemp(parent, "annals-bench-")
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	if err := f.fill(); err != nil {
		f.remove()
		return nil, err
	}
	return f, nil
}

func (f *folder) remove() { os.RemoveAll(f.path) }

func (f *folder) file(name string) string { return filepath.Join(f.path, name) }

func (f *folder) write(name string, text []byte) error {
	return os.WriteFile(f.file(name), text, 0o600)
}

func (f *folder) writeKey(name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return f.write(name, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// fill makes a CA, one serving certificate for all servers (P-256, so that a handshake costs all of them the same), a front proxy's,
// a key for service accounts and bearer tokens.
func (f *folder) fill() error {
	var keys [3]*ecdsa.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return err
		}
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench-ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "bench"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)}, DNSNames: []string{"localhost", "*.default.svc"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	front := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: frontProxy}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for i, c := range []struct {
		name string
		of   *x509.Certificate
	}{{"ca", ca}, {"server", server}, {frontProxy, front}} {
		der, err := x509.CreateCertificate(rand.Reader, c.of, ca, &keys[i].PublicKey, keys[0])
		if err != nil {
			return err
		}
		if err := f.write(c.name+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
			return err
		}
		if err := f.writeKey(c.name+".key", keys[i]); err != nil {
			return err
		}
	}
	return f.fillClient()
}

func (f *folder) fillClient() error {
	for _, token := range []*string{&f.token, &f.plain} {
		secret := make([]byte, 16)
		if _, err := rand.Read(secret); err != nil {
			return err
		}
		*token = hex.EncodeToString(secret)
	}
	pool := x509.NewCertPool()
	text, err := os.ReadFile(f.file("ca.crt"))
	if err != nil {
		return err
	}
	pool.AppendCertsFromPEM(text)
	f.tls = &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", CurvePreferences: []tls.CurveID{tls.X25519}}
	certificate, err := tls.LoadX509KeyPair(f.file(frontProxy+".crt"), f.file(frontProxy+".key"))
	if err != nil {
		return err
	}
	f.front = f.tls.Clone()
	f.front.Certificates = []tls.Certificate{certificate}
	return f.write("tokens.csv", []byte(fmt.Sprintf("%s,bench,bench,\"system:masters\"\n%s,plain,plain\n", f.token, f.plain)))
}

func (f *folder) bearer(token string) []string { return []string{"Authorization: Bearer " + token} }

// freePort asks the kernel. It may be taken again before it is used, which shows.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
