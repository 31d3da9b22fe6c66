// ports.mjs - a port for a server that stops and comes back at the same place.
import crypto from 'node:crypto';
import net from 'node:net';

const isFree = (port) => new Promise((resolve) => {
    const probe = net.createServer().once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
});

// Below the ports that the kernel gives to connections: nobody's call takes it while its server is down.
export const freePort = async () => {
    for (;;) {
        const port = crypto.randomInt(20_000, 32_000);
        if (await isFree(port)) return port;
    }
};
