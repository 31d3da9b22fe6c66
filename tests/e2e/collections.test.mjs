// Collections (S1, S3): people who owe, sessions of the gateway's page, and what its events make of them. The
// whole path runs over the sandbox's own page; orders of events that it would never give are delivered by hand.
import { asHex, assert, forEachStore, fresh, launch, start, token, until, uuid } from './lib/harness.mjs';
import { about, CANCEL, charge, Collection, intent, payOnPage, person, session, SUCCESS } from './lib/collections.mjs';

const isPaid = (collection, who) => until('the participant is paid', async () => {
    const now = await collection.participant(who);
    return now.status === 'paid' && now;
});

forEachStore((store, test) => {
    test('S1 S3 a participant pays on the page: identifiers, then the intent, then fee and receipt', async (t) => {
        const server = await start(t, store);
        const collection = await Collection.make(server, { people: 3 });
        const [who] = collection.people;
        const { participant, payment, checkout } = await collection.session(who);
        assert.equal(participant.status, 'unpaid');
        assert.equal(participant.paymentId, payment.id);
        assert.equal(payment.status, 'PENDING');
        assert.equal(payment.participantId, who.id);
        assert.equal(payment.userId, collection.owner);
        assert.equal(payment.gatewayTransactionId, null);
        assert.equal(checkout.status, 'open');
        assert.deepEqual(payment.requiresAction, { type: 'checkout', url: checkout.url, expiresAt: checkout.expiresAt });
        await payOnPage(server, checkout);
        const now = await isPaid(collection, who);
        assert.equal(now.paidAmount, 3000);
    });
});
