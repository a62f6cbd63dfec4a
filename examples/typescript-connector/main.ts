/** The connector's process: one replica, until SIGTERM or Ctrl-C. What it is told stands in its environment. */
import { runConnector } from 'waybill/host-kit';
import { connector } from './connector.js';

void runConnector(connector);
